"""The map of a library: cases placed by their distances."""
