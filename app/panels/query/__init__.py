"""The query: its image, its region, what is known of it."""
