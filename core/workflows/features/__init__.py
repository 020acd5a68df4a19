"""Extract the features of the cases of a library."""
