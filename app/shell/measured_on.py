"""Texts about the cases that a score was measured on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semblance.core.language import as_lazy, tr, tr_lazy


def measured_note(n: int, measured_on: str, *, stale: bool, n_queries: int | None = None) -> str:
    """Number and kind of the cases, how many of them were queries, and whether the metric has changed since.

    English in files, the user's language in plots.
    """
    from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS

    if measured_on == HELD_OUT_PATIENTS:
        # Of patients there are fewer.
        text = tr_lazy("{n:,} cases of held-out patients", n=n)
    else:
        text = tr_lazy("{n:,} {measured}", n=n, measured=as_lazy(measured_on))
    if n_queries is not None and n_queries < n:
        text = tr_lazy("{n_queries:,} of {cases}", n_queries=n_queries, cases=text)
    return tr_lazy("{measured}, stale", measured=text) if stale else text


def split_text(card: Mapping[str, Any]) -> str:
    """How the held-out cases of a metric's ``card`` were chosen; empty if the card does not say."""
    split = card.get("split")
    if not isinstance(split, Mapping) or not isinstance(split.get("fraction"), int | float):
        return ""
    by = tr("by patient") if split.get("by_patient") else tr("by case")
    return tr(
        "{share:.0%} held out {by}, seed {seed}", share=split["fraction"], by=by, seed=split.get("seed")
    )
