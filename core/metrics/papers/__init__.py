"""The learners of the five papers Semblance implements, one file each."""
