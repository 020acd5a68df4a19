"""Searches: a query with its judgements in a ledger, learning from them, and their contradictions."""
