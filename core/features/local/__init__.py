"""Many descriptions of small places of one picture, to be counted as words by the step ``codebook``."""
