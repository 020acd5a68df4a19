"""The image viewer: what part of an image is seen, with which greys, and the region drawn on it."""
