"""The revisions of the tables, each a file."""
