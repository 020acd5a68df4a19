"""Find the nearest cases: the exact index, the ranking, re-ordering by marks, and the vote of the nearest."""

from semblance.core.retrieval.feedback import feedback_scores

__all__ = ["feedback_scores"]
