"""The card of a metric as lines of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core.metrics.card import MetricCard
from core.reports.document import Fact
from core.reports.wording import when

_SCORES = {"auc": "AUC", "retrieval_accuracy": "Retrieval accuracy", "knn_accuracy": "k-NN accuracy"}
#: Names of columns told; more are counted.
_NAMED = 8


def card_facts(card: MetricCard, learner_title: str = "") -> tuple[Fact, ...]:
    """What the metric is, what it was trained on and how it scored; empty lines are left out."""
    lines = [
        ("Learner", learner_text(card, learner_title)),
        ("Parameters", parameters_text(card)),
        ("Features", card.feature_set),
        ("Steps", "; ".join(card.steps)),
        ("Trained on", trained_on(card)),
        ("Constraints", constraints_text(card)),
        ("Split", split_text(card)),
        *((score_name(name), score_text(value)) for name, value in card.scores.items()),
        *column_lines(card),
        ("Training", " ".join(card.notes)),
        ("Trained at", when(card.created)),
        ("Content hash", card.content_hash),
    ]
    return tuple(Fact(label, value) for label, value in lines if value)


def score_name(name: str) -> str:
    """``retrieval_accuracy@10`` as "Retrieval accuracy @10", ``auc:benign`` as "AUC, benign"."""
    head, at, k = name.partition("@")
    head, colon, finding = head.partition(":")
    title = _SCORES.get(head, head.replace("_", " ").capitalize())
    return f"{title}{f', {finding}' if colon else ''}{f' @{k}' if at else ''}"


def score_text(value: Any) -> str:
    """A number, or one with its interval: ``0.83 (0.78–0.87)``; empty for no value."""
    if isinstance(value, Mapping):
        ends = value.get("ci95")
        mean = value.get("mean", value.get("value"))
        if mean is None:
            return ""
        return f"{mean:.2f} ({ends[0]:.2f}–{ends[1]:.2f})" if ends else f"{mean:.2f}"
    return f"{value:.2f}" if isinstance(value, (int, float)) and not math.isnan(value) else ""


def trained_on(card: MetricCard) -> str:
    """``372 cases, 213 patients: 98 benign, ...``; empty where it was not counted."""
    if not card.n_cases:
        return ""
    patients = "patients unknown" if card.n_patients is None else _count(card.n_patients, "patient")
    findings = ", ".join(f"{number:,} {finding}" for finding, number in card.findings.items())
    return f"{_count(card.n_cases, 'case')}, {patients}{f': {findings}' if findings else ''}"


def split_text(card: MetricCard) -> str:
    """``30% held out, by patient, seed 7``; empty where it was not split."""
    if card.split is None:
        return ""
    by = "by patient" if card.split.by_patient else "patients unknown"
    return f"{card.split.fraction:.0%} held out, {by}, seed {card.split.seed}"


def learner_text(card: MetricCard, title: str = "") -> str:
    """``BDM, 200 rounds``; ``title``: what the learner is called on screen."""
    rounds = f", {_count(card.rounds, 'round')}" if card.rounds is not None else ""
    return f"{title or card.learner}{rounds}"


def parameters_text(card: MetricCard) -> str:
    """``step = paper, rounds = 200``"""
    return ", ".join(f"{name} = {value}" for name, value in card.parameters.items())


def constraints_text(card: MetricCard) -> str:
    """``1,200 similar, 3,400 dissimilar``; empty where it was not counted."""
    return ", ".join(f"{number:,} {kind}" for kind, number in card.constraints.items() if number)


def column_lines(card: MetricCard) -> list[tuple[str, str]]:
    """What the steps did to the columns, by its name; empty where they did nothing of the kind."""
    return [
        ("Missing values", f"{card.imputed:,} filled with training medians" if card.imputed else ""),
        ("Constant columns", _named(card.dropped_columns)),
        ("Selected columns", _named(card.selected_columns)),
    ]


def _named(columns: tuple[str, ...]) -> str:
    named = ", ".join(columns[:_NAMED])
    return f"{named} and {len(columns) - _NAMED:,} more" if len(columns) > _NAMED else named


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
