"""Searches: a query with its judgements in a ledger, what they teach, and where they contradict."""
