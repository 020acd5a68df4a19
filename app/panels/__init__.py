"""The panels of the window, one file each; they read the state and call operations."""
