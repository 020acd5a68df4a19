"""Feedback on a search: save judgements, order by marks, refine the metric, ask questions, move queries by concepts."""
