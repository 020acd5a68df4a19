"""Measurements of speed and memory against the targets; `make bench` runs them, no test does."""
