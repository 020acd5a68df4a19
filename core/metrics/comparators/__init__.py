"""The learners the papers measure against, one file each."""
