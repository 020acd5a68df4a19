"""Top-level windows and what floats above them."""
