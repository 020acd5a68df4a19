"""On what a score was measured, in the words of the window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semblance.core.language import as_lazy, tr, tr_lazy, tr_name


def measured_text(measured_on: str) -> str:
    """``measured_on`` as the scores of a metric have it, in the user's language."""
    return tr_name(measured_on)


def measured_note(n: int, measured_on: str, *, stale: bool) -> str:
    """How many cases of what kind, and whether the metric has changed since: English where it is written into
    numbers, the user's language where it is drawn."""
    told = tr_lazy("{n:,} {measured}", n=n, measured=as_lazy(measured_on))
    return tr_lazy("{measured}, stale", measured=told) if stale else told


def split_text(card: Mapping[str, Any]) -> str:
    """How the cases of a metric's ``card`` were set apart; empty where it does not tell."""
    split = card.get("split")
    if not isinstance(split, Mapping) or not isinstance(split.get("fraction"), int | float):
        return ""
    by = tr("by patient") if split.get("by_patient") else tr("by case")
    return tr(
        "{share:.0%} held out {by}, seed {seed}", share=split["fraction"], by=by, seed=split.get("seed")
    ).replace("%", " %")
