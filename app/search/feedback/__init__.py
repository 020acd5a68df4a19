"""Feedback on similar cases: marks, comparisons, concepts, questions, and the metric refined by them."""
