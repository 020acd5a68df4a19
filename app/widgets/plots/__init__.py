"""Plots shown as rendered figures, and live curves."""
