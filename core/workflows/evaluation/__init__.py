"""Score metrics and analyse them over all cases of a library."""
