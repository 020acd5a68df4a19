"""Puts what is known of a metric into the neutral document of its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semblance.core.evaluation.calibration import Calibration
from semblance.core.evaluation.evaluate_metric import MetricScores
from semblance.core.language import known, say, say_all
from semblance.core.metrics.card import MetricCard
from semblance.core.reports.card_document import NOT_MEASURED, CardDocument, Section, Table
from semblance.core.reports.card_facts import (
    column_lines,
    constraints_text,
    learner_text,
    parameters_text,
    score_text,
    split_text,
    trained_on,
)
from semblance.core.reports.document import Fact
from semblance.core.reports.wording import when

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
        _section(say("Metric"), _about(name, card, learner_title, paper)),
        _section(say("Data"), _data(card)),
        _section(say("Training"), _training(card)),
        *_scores(card, measured),
        *_failures(measured),
        *_calibration(measured, calibration, told="calibration" in (scores or {})),
        _section(say("Origin"), _origin(card)),
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
        (say("Name"), name),
        (say("Learner"), learner_text(card, title)),
        (say("Parameters"), parameters_text(card)),
        (say("Paper"), paper),
    ]


def _data(card: MetricCard) -> list[tuple[str, str]]:
    return [
        (say("Library"), card.library),
        (say("Features"), card.feature_set),
        (say("Steps"), say_all(map(known, card.steps), "; ")),
        *column_lines(card),
    ]


def _training(card: MetricCard) -> list[tuple[str, str]]:
    return [
        (say("Trained on"), trained_on(card)),
        (say("Split"), split_text(card)),
        (say("Constraints"), constraints_text(card)),
        (say("How it ended"), say_all(map(known, card.notes), " ")),
    ]


def _scores(card: MetricCard, scores: MetricScores | None) -> list[Section]:
    if scores is None:
        return [
            Section(
                say("Scores"),
                (Fact(say("Measured on"), known(card.measured_on) if card.measured_on else NOT_MEASURED),),
            )
        ]
    k = min(10, len(scores.retrieval_accuracy.k))
    lines = [
        (
            say("Measured on"),
            say(
                "{n_test:,} cases, {measured_on}", n_test=scores.n_test, measured_on=known(scores.measured_on)
            ),
        ),
        (say("Retrieval accuracy @{k}", k=k), _spread(scores.retrieval_accuracy.at(k))),
        (say("{voters}-NN accuracy", voters=scores.voters), _spread(scores.knn_accuracy.at(scores.voters))),
        (say("AUC, mean of findings"), "" if scores.auc is None else say("{auc:.2f}", auc=scores.auc)),
        *(
            (say("AUC, {finding}", finding=finding), score_text({"value": curve.auc, "ci95": curve.ci95}))
            for finding, curve in scores.roc.items()
        ),
    ]
    facts = tuple(Fact(label, value) for label, value in lines if value)
    return [Section(say("Scores"), facts, measured_on=scores.measured_on)]


def _failures(scores: MetricScores | None) -> list[Section]:
    """The findings it does worst on, and which it takes for which."""
    if scores is None or not scores.by_finding:
        return []
    known = [(name, one) for name, one in scores.by_finding.items() if one.mean is not None]
    worst = sorted(known, key=lambda entry: entry[1].mean or 0.0)[:WEAKEST]
    lines = [
        (
            say("Weakest, {name}", name=name),
            say(
                "{value} accuracy @{k} of {n:,} cases",
                value=_spread((one.mean, one.low, one.high)),
                k=one.k,
                n=one.n,
            ),
        )
        for name, one in worst
    ]
    lines += _confused(scores)
    facts = tuple(Fact(label, value) for label, value in lines)
    return [Section(say("Where it fails"), facts, _confusion(scores), scores.measured_on)]


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
        say(
            "{count:,} of {confusion:,} {true} taken for {said}",
            count=count,
            confusion=sum(scores.confusion[names.index(true)]),
            true=true,
            said=said,
        )
        for count, true, said in sorted(wrong, reverse=True)[:WEAKEST]
    ]
    return [(say("Most often confused"), say_all(told, "; "))] if told else []


def _confusion(scores: MetricScores) -> Table | None:
    names = sorted(scores.by_finding)
    if len(names) != len(scores.confusion):
        return None
    rows = tuple(
        (name, *(say("{n:,}", n=count) for count in row))
        for name, row in zip(names, scores.confusion, strict=True)
    )
    return Table((say("is / {voters} nearest say", voters=scores.voters), *names), rows)


def _calibration(
    scores: MetricScores | None, calibration: Calibration | None, *, told: bool
) -> list[Section]:
    if scores is None:
        return []
    if calibration is None:
        few, before = (
            say("too few cases with a finding were held out"),
            say("score the metric again to get one"),
        )
        return [
            _section(
                say("Calibration"), [(say("Estimates"), say("none: {why}", why=few if told else before))]
            )
        ]
    patients = (
        ""
        if calibration.n_patients is None
        else say(" of {n_patients:,} patients", n_patients=calibration.n_patients)
    )
    lines = [
        (say("Method"), known(calibration.method)),
        (
            say("Calibrated on"),
            say("{n_cases:,} cases{patients}", n_cases=calibration.n_cases, patients=patients),
        ),
        (
            say("Expected calibration error"),
            say(
                "{ece:.3f} (perfect forecasters: below {perfect:.3f} in 95 of 100)",
                ece=calibration.ece,
                perfect=calibration.perfect,
            ),
        ),
    ]
    section = _section(say("Calibration"), lines)
    return [Section(section.title, section.facts, None, calibration.measured_on)]


def _origin(card: MetricCard) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    return [
        (say("Trained at"), when(card.created)),
        (say("Versions"), versions),
        (say("Content hash"), card.content_hash),
    ]


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
    if low is None or high is None:
        return say("{mean:.2f}", mean=mean)
    return say("{mean:.2f} ({low:.2f}–{high:.2f})", mean=mean, low=low, high=high)
