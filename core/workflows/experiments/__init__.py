"""Run experiments and tell their results."""
