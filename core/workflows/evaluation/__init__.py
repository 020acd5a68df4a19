"""Score metrics and look at what they do over all cases of a library."""
