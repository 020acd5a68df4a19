"""Plots in the window: images drawn elsewhere, and curves that grow."""
