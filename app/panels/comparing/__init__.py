"""Two of a kind beside each other: cases, and metrics."""
