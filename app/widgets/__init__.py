"""Widgets, cards and plots that several packages use."""
