"""A search: its query and its options."""
