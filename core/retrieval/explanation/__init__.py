"""Explain a distance: exact parts by groups, directions or bits, and a sentence."""

from semblance.core.retrieval.explanation.grouping import Grouping
from semblance.core.retrieval.explanation.shares import Share, shares_of

__all__ = ["Grouping", "Share", "shares_of"]
