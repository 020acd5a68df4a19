"""On what a score was measured, in the words of the window."""

from __future__ import annotations

from core.language import figure, named, tr


def measured_words(measured_on: str) -> str:
    """``measured_on`` as the scores of a metric have it, in the user's language."""
    return named(measured_on)


def measured_note(n: int, measured_on: str, *, stale: bool) -> str:
    """How many cases of what kind, and whether the metric has changed since."""
    told = f"{figure(n, ',')} {measured_words(measured_on)}"
    return tr("{measured}, stale", measured=told) if stale else told
