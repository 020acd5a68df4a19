"""The scores of an evaluation."""

from __future__ import annotations


class Scores:
    """Scores of metrics on held-out patients."""
