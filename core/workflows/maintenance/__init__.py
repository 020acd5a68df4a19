"""Verify a library, repair it, back it up and restore it."""
