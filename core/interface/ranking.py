"""The ranked cases of one search."""

from __future__ import annotations


class Ranking:
    """Cases in the order of their distance to a query, nearest first."""


class RankedResult:
    """One case of a ranking."""
