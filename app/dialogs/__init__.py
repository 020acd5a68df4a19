"""Questions that need more than a button: what to import, what to extract, what could not be read."""
