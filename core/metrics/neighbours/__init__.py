"""Objectives over each finding's own nearest cases, and how they are climbed."""
