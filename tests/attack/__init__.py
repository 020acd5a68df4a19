"""Everything that means harm, with a table of what it did: ``python -m tests.attack``."""
