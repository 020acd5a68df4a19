"""Explain a distance: exact parts by groups, directions or bits, and a sentence."""

from semblance.core.retrieval.explanation.shares import DistanceShare, Grouping, shares_of

__all__ = ["DistanceShare", "Grouping", "shares_of"]
