"""Plots and reports: what a search or an evaluation found, as pictures, pages and tables to keep."""
