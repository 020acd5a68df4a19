"""The picture viewer: what part of a picture is seen, with which greys, and the region drawn on it."""
