"""Random walks of a user through the real window: by hand, and a short form in the tests."""
