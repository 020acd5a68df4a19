"""Library snapshots with invented scores, for plots and tables that need no real library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.evaluation.calibration import NeighbourVotes, calibrate
from semblance.core.evaluation.evaluate_metric import (
    HELD_OUT_PATIENTS,
    FindingRoc,
    IntervalCurve,
    MetricScores,
)
from semblance.core.features.registry import extractors
from semblance.core.library.case_columns import case_columns
from semblance.core.workflows.features.suitable_extractors import ExtractorSuitability
from semblance.core.workflows.library.library_snapshot import FeatureSetFacts, LibrarySnapshot, MetricFacts

CASES, TRAINED = 100, 70
FINDINGS = ("benign", "malignant")
#: What suits a library of images.
FITS = tuple(ExtractorSuitability(e.name, "" if e.needs_image else "no table") for e in extractors())


def scores(
    accuracy: float,
    *,
    findings: Sequence[str] = FINDINGS,
    measured_on: str = HELD_OUT_PATIENTS,
    n_test: int = CASES - TRAINED,
) -> dict[str, Any]:
    """Scores as a library stores them. Accuracy falls slowly with k."""
    k = np.arange(1, 51)
    mean = accuracy - 0.002 * k
    curve = IntervalCurve(
        tuple(k.tolist()), tuple(mean.tolist()), tuple((mean - 0.05).tolist()), tuple((mean + 0.04).tolist())
    )
    fpr = np.linspace(0, 1, 11)
    tpr = fpr ** (1 - accuracy)
    area = float(np.trapezoid(tpr, fpr))
    roc = FindingRoc(tuple(fpr.tolist()), tuple(tpr.tolist()), area, (area - 0.05, min(1.0, area + 0.04)))
    share, rest = divmod(n_test, len(findings))
    counts = {name: share + (rest if index == 0 else 0) for index, name in enumerate(findings)}
    return MetricScores(
        measured_on,
        TRAINED,
        counts,
        10,
        0,
        curve,
        curve,
        area,
        dict.fromkeys(findings, roc),
        gallery=CASES,
        ceiling=(1.0,) * len(k),
        chance=1 / len(findings),
    ).to_json()


def training_points(rounds: int) -> list[list[float | None]]:
    """[round, objective, held-out accuracy] with accuracy measured in every third round."""
    return [[n, 30.0 * 0.98**n, 0.9 - 0.3 * 0.95**n if n % 3 == 1 else None] for n in range(1, rounds + 1)]


def metric(
    name: str,
    accuracy: float | None,
    *,
    learner: str = "bdm",
    rounds: int = 30,
    card: dict[str, Any] | None = None,
    **options: Any,
) -> MetricFacts:
    """A metric trained on the first cases. Without ``accuracy`` it has no scores."""
    all_scores = (
        None
        if accuracy is None
        else {**scores(accuracy, **options), "training_curve": training_points(rounds)}
    )
    split = {"split": {"seed": 7, "fraction": 0.3, "by_patient": True}}
    return MetricFacts(name, learner, "gabor", {**split, **(card or {})}, all_scores, np.arange(TRAINED))


def snapshot(
    *metrics: MetricFacts, findings: Sequence[str] = FINDINGS, cases: int = CASES, writable: bool = True
) -> LibrarySnapshot:
    """A library of ``cases`` cases, one of each patient, all with Gabor features."""
    columns = case_columns(
        range(cases),
        [f"c{n:03d}" for n in range(cases)],
        [findings[n % len(findings)] for n in range(cases)],
        [f"P{n:03d}" for n in range(cases)],
        [0] * cases,
    )
    sets = (FeatureSetFacts("gabor", "gabor", 2560, cases, 0),)
    return LibrarySnapshot(Path("made-up"), "made-up", writable, (), columns, sets, metrics, (), cases, FITS)


def with_calibration(metric_: MetricFacts, findings: Sequence[str] = FINDINGS) -> MetricFacts:
    """The same metric, calibrated on the cases it was not trained on. Most votes are right."""
    rows = np.arange(TRAINED, CASES)
    votes = rows % 11
    held_out = NeighbourVotes(
        rows,
        votes,
        np.full(len(rows), 10),
        (votes > 5) ^ (rows % 7 == 0),
        None,
        findings[-1] if len(findings) == 2 else None,
        HELD_OUT_PATIENTS,
    )
    calibration = calibrate(held_out, findings)
    assert calibration is not None
    return replace(metric_, scores={**(metric_.scores or {}), "calibration": calibration.to_json()})
