"""Puts what is known of a metric into the neutral document of its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.evaluation.calibration import Calibration
from core.evaluation.evaluate_metric import MetricScores
from core.metrics.card import MetricCard
from core.reports.card_document import NOT_MEASURED, CardDocument, Section, Table
from core.reports.card_facts import (
    column_lines,
    constraints_text,
    learner_text,
    parameters_text,
    score_text,
    split_text,
    trained_on,
)
from core.reports.document import Fact
from core.reports.wording import when

#: Findings shown as the weakest.
WEAKEST = 3


def card_document(
    name: str,
    card: MetricCard,
    scores: Mapping[str, Any] | None,
    *,
    learner_title: str = "",
    paper: str = "",
) -> CardDocument:
    """The document of the metric called ``name``; ``scores`` as the library keeps them. Without authors of
    judgements: they stay in the library.

    Raises:
        BadInput: scores of another form.
    """
    measured = None if not scores else MetricScores.from_json(scores)
    kept = (scores or {}).get("calibration")
    calibration = Calibration.from_json(kept) if kept else None
    sections = [
        _section("Metric", _about(name, card, learner_title, paper)),
        _section("Data", _data(card)),
        _section("Training", _training(card)),
        *_scores(card, measured),
        *_failures(measured),
        *_calibration(measured, calibration, told="calibration" in (scores or {})),
        _section("Origin", _origin(card)),
    ]
    values = {
        "name": name,
        "card": {key: value for key, value in card.to_json().items() if key != "authors"},
        "scores": _told_scores(scores),
    }
    return CardDocument(name, tuple(section for section in sections if section), values)


def _section(title: str, lines: list[tuple[str, str]]) -> Section:
    return Section(title, tuple(Fact(label, value) for label, value in lines if value))


def _about(name: str, card: MetricCard, title: str, paper: str) -> list[tuple[str, str]]:
    return [
        ("Name", name),
        ("Learner", learner_text(card, title)),
        ("Parameters", parameters_text(card)),
        ("Paper", paper),
    ]


def _data(card: MetricCard) -> list[tuple[str, str]]:
    return [
        ("Library", card.library),
        ("Features", card.feature_set),
        ("Steps", "; ".join(card.steps)),
        *column_lines(card),
    ]


def _training(card: MetricCard) -> list[tuple[str, str]]:
    return [
        ("Trained on", trained_on(card)),
        ("Split", split_text(card)),
        ("Constraints", constraints_text(card)),
        ("How it ended", " ".join(card.notes)),
    ]


def _scores(card: MetricCard, scores: MetricScores | None) -> list[Section]:
    if scores is None:
        return [Section("Scores", (Fact("Measured on", card.measured_on or NOT_MEASURED),))]
    k = min(10, len(scores.retrieval_accuracy.k))
    lines = [
        ("Measured on", f"{scores.n_test:,} cases, {scores.measured_on}"),
        (f"Retrieval accuracy @{k}", _spread(scores.retrieval_accuracy.at(k))),
        (f"{scores.voters}-NN accuracy", _spread(scores.knn_accuracy.at(scores.voters))),
        ("AUC, mean of findings", "" if scores.auc is None else f"{scores.auc:.2f}"),
        *(
            (f"AUC, {finding}", score_text({"value": curve.auc, "ci95": curve.ci95}))
            for finding, curve in scores.roc.items()
        ),
    ]
    facts = tuple(Fact(label, value) for label, value in lines if value)
    return [Section("Scores", facts, measured_on=scores.measured_on)]


def _failures(scores: MetricScores | None) -> list[Section]:
    """The findings it does worst on, and which it takes for which."""
    if scores is None or not scores.by_finding:
        return []
    known = [(name, one) for name, one in scores.by_finding.items() if one.mean is not None]
    worst = sorted(known, key=lambda entry: entry[1].mean or 0.0)[:WEAKEST]
    lines = [
        (f"Weakest, {name}", f"{_spread((one.mean, one.low, one.high))} accuracy @{one.k} of {one.n:,} cases")
        for name, one in worst
    ]
    lines += _confused(scores)
    facts = tuple(Fact(label, value) for label, value in lines)
    return [Section("Where it fails", facts, _confusion(scores), scores.measured_on)]


def _confused(scores: MetricScores) -> list[tuple[str, str]]:
    """What is most often taken for something else."""
    names = sorted(scores.by_finding)
    if len(names) != len(scores.confusion):
        return []
    wrong = [
        (count, names[i], names[j])
        for i, row in enumerate(scores.confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    told = [
        f"{count:,} of {sum(scores.confusion[names.index(true)]):,} {true} taken for {said}"
        for count, true, said in sorted(wrong, reverse=True)[:WEAKEST]
    ]
    return [("Most often confused", "; ".join(told))] if told else []


def _confusion(scores: MetricScores) -> Table | None:
    names = sorted(scores.by_finding)
    if len(names) != len(scores.confusion):
        return None
    rows = tuple(
        (name, *(f"{count:,}" for count in row)) for name, row in zip(names, scores.confusion, strict=True)
    )
    return Table((f"is / {scores.voters} nearest say", *names), rows)


def _calibration(
    scores: MetricScores | None, calibration: Calibration | None, *, told: bool
) -> list[Section]:
    if scores is None:
        return []
    if calibration is None:
        few, before = "too few cases with a finding were held out", "score the metric again to get one"
        return [_section("Calibration", [("Estimates", f"none: {few if told else before}")])]
    patients = "" if calibration.n_patients is None else f" of {calibration.n_patients:,} patients"
    lines = [
        ("Method", calibration.method),
        ("Calibrated on", f"{calibration.n_cases:,} cases{patients}"),
        (
            "Expected calibration error",
            f"{calibration.ece:.3f} (perfect forecasters: below {calibration.perfect:.3f} in 95 of 100)",
        ),
    ]
    section = _section("Calibration", lines)
    return [Section(section.title, section.facts, None, calibration.measured_on)]


def _origin(card: MetricCard) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    return [("Trained at", when(card.created)), ("Versions", versions), ("Content hash", card.content_hash)]


def _told_scores(scores: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The kept scores without what names single cases."""
    if not scores:
        return None
    told = {key: value for key, value in scores.items() if key not in ("calibration", "training_curve")}
    calibration = scores.get("calibration")
    if calibration:
        told["calibration"] = {key: value for key, value in calibration.items() if key != "cases"}
    return told


def _spread(values: tuple[float | None, float | None, float | None]) -> str:
    mean, low, high = values
    if mean is None:
        return ""
    return f"{mean:.2f}" if low is None or high is None else f"{mean:.2f} ({low:.2f}–{high:.2f})"
