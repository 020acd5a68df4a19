"""Many descriptions of small places of one image, to be counted as words by the step ``codebook``."""
