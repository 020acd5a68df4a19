"""Reports of a search."""
