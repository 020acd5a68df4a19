"""Asking with a case or an image, the similar cases, feedback, explanation and comparison."""
