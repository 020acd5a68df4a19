"""Kills the program at random moments of its work: by hand, and a short form in the tests."""
