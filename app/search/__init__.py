"""Searching with a case or an image: query, similar cases, feedback, explanation and comparison."""
