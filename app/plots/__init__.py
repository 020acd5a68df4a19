"""Plots in the window: pictures drawn elsewhere, and curves that grow."""
