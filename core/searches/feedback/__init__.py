"""Feedback on a search: judgements in one ledger, of which marks order it and the others refine its metric."""
