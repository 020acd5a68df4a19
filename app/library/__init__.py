"""Opening, importing, browsing and maintaining a library."""
