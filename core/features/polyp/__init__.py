"""Polyp candidates of CT colonography in 96 features: the block around one, its surface, and its measures."""
