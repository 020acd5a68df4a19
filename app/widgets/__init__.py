"""Widgets that know nothing of libraries or jobs: they show what they are given and say what was done."""
