"""Cases as cards: the grid, the strip and the ranking's columns."""
