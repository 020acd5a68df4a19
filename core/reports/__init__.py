"""Plots and reports of searches and evaluations as images, documents and tables."""
