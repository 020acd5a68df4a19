"""Feedback on a search: order by marks, refine the metric in memory, ask questions, move queries by concepts."""
