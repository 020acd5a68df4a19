"""Scores, calibration and the map of a metric."""
