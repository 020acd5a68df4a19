"""Finding the nearest cases: the exact index, the ranking made from it, and the vote of the nearest."""
