"""The query and one case side by side."""
