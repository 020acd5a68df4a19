"""Polyp candidates of CT colonography in 96 numbers: a block around one, its surface, what is measured."""
