"""Ask a library, refine what it answers, understand it and keep it."""
