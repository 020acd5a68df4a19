"""Feedback on similar cases: judgements, examples, concepts, questions, and the metric refined by them."""
