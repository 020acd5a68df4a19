"""A trained metric of a library."""

from __future__ import annotations


class Metric:
    """A distance between cases that was learnt, with its card."""
