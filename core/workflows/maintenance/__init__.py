"""Check a library, mend it, back it up."""
