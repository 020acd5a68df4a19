"""Images of every panel to look at, in both themes, small and large text and windows, and German."""
