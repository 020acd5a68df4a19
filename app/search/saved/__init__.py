"""Saved searches: save, branch, reopen."""
