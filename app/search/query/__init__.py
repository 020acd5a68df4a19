"""The query: its image, facts and region, and the full-size view."""
