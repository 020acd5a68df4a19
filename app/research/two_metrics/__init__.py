"""One query ranked by two metrics, side by side."""
