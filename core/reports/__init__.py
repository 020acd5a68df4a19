"""Plots and reports: what a search or an evaluation found, as images, pages and tables to keep."""
