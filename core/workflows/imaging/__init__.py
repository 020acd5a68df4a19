"""Images as the window shows them."""
