"""On what a score was measured, in the words of the window."""

from __future__ import annotations

from core.evaluation.evaluate_metric import HELD_OUT_CASES, HELD_OUT_PATIENTS
from core.language import tr

_WORDS = {HELD_OUT_PATIENTS: tr("held-out patients"), HELD_OUT_CASES: tr("held-out cases, unknown patients")}


def measured_words(measured_on: str) -> str:
    """``measured_on`` as the scores of a metric have it, in the user's language."""
    return _WORDS.get(measured_on, measured_on)


def measured_note(n: int, measured_on: str, *, stale: bool) -> str:
    """How many cases of what kind, and whether the metric has changed since."""
    told = f"{n:,} {measured_words(measured_on)}"
    return tr("{measured}, stale", measured=told) if stale else told
