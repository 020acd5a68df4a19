"""Finding the nearest cases: the exact index, the ranking made from it, marks in it, and the vote of the nearest."""

from semblance.core.retrieval.feedback import feedback_scores

__all__ = ["feedback_scores"]
