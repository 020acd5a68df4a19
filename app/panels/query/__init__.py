"""The query: its picture, its region, what is known of it."""
