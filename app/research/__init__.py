"""Experiments and the comparison of two metrics."""
