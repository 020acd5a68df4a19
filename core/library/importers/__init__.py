"""One file per kind of source, the registry of them, and what they look into."""
