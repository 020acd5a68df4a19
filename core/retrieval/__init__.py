"""Find the nearest cases: the exact index, the ranking, and re-ordering by marks."""

from semblance.core.retrieval.feedback import feedback_scores

__all__ = ["feedback_scores"]
