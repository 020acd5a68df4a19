"""Pictures as the window shows them."""
