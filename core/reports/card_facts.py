"""The card of a metric as lines of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from semblance.core.language import known, say, say_all, say_n
from semblance.core.metrics.card import MetricCard
from semblance.core.reports.document import Fact
from semblance.core.reports.wording import when

_SCORES = {
    "auc": say("AUC"),
    "retrieval_accuracy": say("Retrieval accuracy"),
    "knn_accuracy": say("k-NN accuracy"),
    "calibration_error": say("Calibration error"),
}
_CONSTRAINTS = {
    "similar": say("similar"),
    "dissimilar": say("dissimilar"),
    "visual": say("visual"),
    "triplets": say("triplets"),
    "judgements": say("judgements"),
    "judged triplets": say("judged triplets"),
}
#: Names of columns told; more are counted.
_NAMED = 8


def card_facts(card: MetricCard, learner_title: str = "") -> tuple[Fact, ...]:
    """What the metric is, what it was trained on and how it scored; empty lines are left out."""
    lines = [
        (say("Learner"), learner_text(card, learner_title)),
        (say("Parameters"), parameters_text(card)),
        (say("Features"), card.feature_set),
        (say("Steps"), say_all(map(known, card.steps), "; ")),
        (say("Trained on"), trained_on(card)),
        (say("Constraints"), constraints_text(card)),
        (say("Split"), split_text(card)),
        *((score_name(name), score_text(value)) for name, value in card.scores.items()),
        *column_lines(card),
        (say("Training"), say_all(map(known, card.notes), " ")),
        (say("Trained at"), when(card.created)),
        (say("Content hash"), card.content_hash),
    ]
    return tuple(Fact(label, value) for label, value in lines if value)


def score_name(name: str) -> str:
    """``retrieval_accuracy@10`` as "Retrieval accuracy @10", ``auc:benign`` as "AUC, benign"."""
    head, at, k = name.partition("@")
    head, colon, finding = head.partition(":")
    title = _SCORES.get(head, head.replace("_", " ").capitalize())
    told = say_all([title, finding]) if colon else title
    return say_all([told, f"@{k}"], " ") if at else told


def score_text(value: Any) -> str:
    """A number, or one with its interval: ``0.83 (0.78–0.87)``; empty for no value."""
    if isinstance(value, Mapping):
        ends = value.get("ci95")
        mean = value.get("mean", value.get("value"))
        if mean is None:
            return ""
        if not ends:
            return say("{mean:.2f}", mean=mean)
        return say("{mean:.2f} ({low:.2f}–{high:.2f})", mean=mean, low=ends[0], high=ends[1])
    return (
        say("{value:.2f}", value=value) if isinstance(value, (int, float)) and not math.isnan(value) else ""
    )


def trained_on(card: MetricCard) -> str:
    """``372 cases, 213 patients: 98 benign, ...``; empty where it was not counted."""
    if not card.n_cases:
        return ""
    known_patients = card.n_patients is not None
    patients = say_n("{n} patient", "{n} patients", card.n_patients or 0)
    told = say_all(
        [
            say_n("{n} case", "{n} cases", card.n_cases),
            patients if known_patients else say("patients unknown"),
        ]
    )
    findings = [
        say("{n:,} {finding}", n=number, finding=finding) for finding, number in card.findings.items()
    ]
    return say_all([told, say_all(findings)], ": ") if findings else told


def split_text(card: MetricCard) -> str:
    """``30% held out, by patient, seed 7``; empty where it was not split."""
    if card.split is None:
        return ""
    by = say("by patient") if card.split.by_patient else say("patients unknown")
    return say(
        "{share:.0%} held out, {by}, seed {seed}", share=card.split.fraction, by=by, seed=card.split.seed
    )


def learner_text(card: MetricCard, title: str = "") -> str:
    """``BDM, 200 rounds``; ``title``: what the learner is called on screen."""
    name = known(title or card.learner)
    return name if card.rounds is None else say_all([name, say_n("{n} round", "{n} rounds", card.rounds)])


def parameters_text(card: MetricCard) -> str:
    """``step = paper, rounds = 200``"""
    return ", ".join(f"{name} = {value}" for name, value in card.parameters.items())


def constraints_text(card: MetricCard) -> str:
    """``1,200 similar, 3,400 dissimilar``; empty where it was not counted."""
    told = card.constraints.items()
    return say_all(
        say("{n:,} {kind}", n=number, kind=_CONSTRAINTS.get(kind, kind)) for kind, number in told if number
    )


def column_lines(card: MetricCard) -> list[tuple[str, str]]:
    """What the steps did to the columns, by its name; empty where they did nothing of the kind."""
    return [
        (
            say("Missing values"),
            say("{n:,} filled with training medians", n=card.imputed) if card.imputed else "",
        ),
        (say("Constant columns"), _named(card.dropped_columns)),
        (say("Selected columns"), _named(card.selected_columns)),
    ]


def _named(columns: tuple[str, ...]) -> str:
    named = ", ".join(columns[:_NAMED])
    left = len(columns) - _NAMED
    return say("{named} and {n:,} more", named=named, n=left) if left > 0 else named
