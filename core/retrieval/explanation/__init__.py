"""Explain a distance: exact parts by groups, directions or bits, and a sentence."""

from semblance.core.retrieval.explanation.shares import Grouping, Share, shares_of

__all__ = ["Grouping", "Share", "shares_of"]
