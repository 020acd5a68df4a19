"""Why a case is where it is: exact parts of its distance by groups, directions or bits, and in words."""

from semblance.core.retrieval.explanation.grouping import Grouping
from semblance.core.retrieval.explanation.shares import Share, shares_of

__all__ = ["Grouping", "Share", "shares_of"]
