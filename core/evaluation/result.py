"""The result of an evaluation: scores, curves and comparisons, and its JSON (CONTRACT.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.chance import SCORES, K, at_chance
from semblance.core.evaluation.intervals import ScoreSummary, corrected_variance, over_repeats, t_quantile
from semblance.core.evaluation.query_records import QueryRecords
from semblance.core.evaluation.roc import Roc, average
from semblance.core.evaluation.significance import ScoreComparison, corrected_t_test
from semblance.core.evaluation.splits import HoldOut
from semblance.core.json_document import JsonDocument, JsonKeys

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QueryScores:
    """The values (q,) of the score ``score`` of single queries, which are ``rows`` (q,) of the data."""

    score: str
    rows: npt.NDArray[np.intp]
    values: Vector


@dataclass(frozen=True, eq=False)
class MeasuredScores:
    """The scores of one metric in one repeat.

    ``curves`` hold by name the score (K,) at k = 1, 2, ... K, NaN where undefined; ``rocs`` are by finding.
    ``intervals``: by the name of a score and of a method (``delong``, ``bootstrap``) the 95 % interval over
    the tested cases of this repeat alone. ``records``: what the queries found, where that is kept.
    """

    scores: Mapping[str, float]
    curves: Mapping[str, Vector] = field(default_factory=dict)
    rocs: Mapping[str, Roc] = field(default_factory=dict)
    intervals: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    queries: QueryScores | None = None
    records: QueryRecords | None = None


@dataclass(frozen=True)
class ScoreCurve(JsonDocument):
    """A score at each k: mean and standard deviation over the repeats (``None``: undefined)."""

    k: tuple[int, ...]
    mean: tuple[float | None, ...]
    std: tuple[float | None, ...]


@dataclass(frozen=True)
class FitSeconds(JsonDocument):
    """Time of fitting the learner, without the steps."""

    median: float
    min: float
    max: float


@dataclass(frozen=True, eq=False)
class LearnerResult(JsonDocument):
    """One learner over all repeats; ``steps`` as written in ``--steps``, ``roc`` averaged, by finding."""

    #: One of the ``results`` of an evaluation in CONTRACT.md, without printed values of papers.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "learner",
        "params",
        "steps",
        "scores",
        ("curves", "_curves_and_roc"),
        "fit_seconds",
    )

    learner: str
    params: Mapping[str, Any]
    steps: str
    scores: Mapping[str, ScoreSummary]
    curves: Mapping[str, ScoreCurve]
    roc: Mapping[str, Roc]
    fit_seconds: FitSeconds

    @property
    def _curves_and_roc(self) -> dict[str, Any]:
        return {**self.curves, "roc": self.roc}


@dataclass(frozen=True)
class LearnerFailure(JsonDocument):
    """A learner that gave no result, and why."""

    learner: str
    reason: str


@dataclass(frozen=True)
class SplitFacts(JsonDocument):
    """How cases were split; sizes are means over the repeats."""

    rule: str
    by_patient: bool
    n_train: float
    n_test: float


@dataclass(frozen=True, eq=False)
class NamedSplit:
    """A split with its repeat and fold, "" where there is one."""

    repeat: str
    fold: str
    split: HoldOut


@dataclass(frozen=True, eq=False)
class SplitQueries:
    """What the queries of one split found with the metric of one learner."""

    learner: str
    repeat: str
    fold: str
    records: QueryRecords


@dataclass(frozen=True, eq=False)
class EvaluationResult(JsonDocument):
    """Learners measured on the same splits of the same cases, compared by the scores ``compared``.

    ``splits``: the rows of each; ``queries``: what single queries found, where that was kept. Neither is in the JSON.
    """

    #: The "evaluate" document of CONTRACT.md, without what papers print.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "protocol",
        "source",
        "seed",
        "repeats",
        "measured_on",
        "split",
        "compared",
        ("results", "_results_with_notes"),
        "comparisons",
        "failed",
        "versions",
    )

    protocol: str
    source: Mapping[str, Any]
    seed: int
    repeats: int
    split: SplitFacts
    results: tuple[LearnerResult, ...]
    comparisons: tuple[ScoreComparison, ...]
    failed: tuple[LearnerFailure, ...]
    compared: tuple[str, ...]
    versions: Mapping[str, str]
    measured_on: str = "held-out"
    splits: tuple[NamedSplit, ...] = ()
    queries: tuple[SplitQueries, ...] = ()

    @property
    def _results_with_notes(self) -> tuple[dict[str, Any], ...]:
        return tuple(
            {**one.to_json(), "chance_note": _chance_note(one, self.split) or None} for one in self.results
        )


def summarise(
    learner: str,
    params: Mapping[str, Any],
    steps: str,
    measured: Sequence[MeasuredScores],
    seconds: Sequence[float],
) -> LearnerResult:
    """Summarise the repeats (at least one) of a learner."""
    return LearnerResult(
        learner=learner,
        params=params,
        steps=steps,
        scores=_summaries(measured),
        curves={name: _curve([one.curves[name] for one in measured]) for name in measured[0].curves},
        roc={
            finding: average([one.rocs[finding] for one in measured if finding in one.rocs])
            for finding in _names([one.rocs for one in measured])
        },
        fit_seconds=FitSeconds(float(np.median(seconds)), min(seconds), max(seconds)),
    )


def compare(
    results: Sequence[LearnerResult], scores: Sequence[str], n_train: float, n_test: float
) -> tuple[ScoreComparison, ...]:
    """Every two learners in each of ``scores`` that both have; none with fewer than two repeats."""
    found = []
    for place, a in enumerate(results):
        for b in results[place + 1 :]:
            for score in scores:
                if score not in a.scores or score not in b.scores:
                    continue
                difference = corrected_t_test(a.scores[score].values, b.scores[score].values, n_train, n_test)
                if difference is not None:
                    found.append(ScoreComparison(a.learner, b.learner, score, **vars(difference)))
    return tuple(found)


def number_or_none(value: float) -> float | None:
    """The value, or ``None`` for NaN, which JSON does not have."""
    return None if math.isnan(value) else float(value)


def _summaries(measured: Sequence[MeasuredScores]) -> dict[str, ScoreSummary]:
    found = {}
    for name in _names([one.scores for one in measured]):
        values = [number_or_none(one.scores.get(name, math.nan)) for one in measured]
        if any(value is not None for value in values):
            found[name] = over_repeats(values)
    if len(measured) == 1:
        # One repeat has no spread over repeats, but may have an interval over its queries.
        ends = {
            name: by_method["bootstrap"]
            for name, by_method in measured[0].intervals.items()
            if "bootstrap" in by_method
        }
        found |= {name: replace(found[name], ci95=ends[name]) for name in found.keys() & ends.keys()}
    return found


def _names(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table))


def _curve(curves: Sequence[Vector]) -> ScoreCurve:
    length = min(len(curve) for curve in curves)
    means: list[float | None] = []
    stds: list[float | None] = []
    for at_k in zip(*(curve[:length].tolist() for curve in curves), strict=True):
        present = [value for value in at_k if not math.isnan(value)]
        means.append(float(np.mean(present)) if present else None)
        stds.append(float(np.std(present, ddof=1)) if len(present) > 1 else None)
    return ScoreCurve(tuple(range(1, length + 1)), tuple(means), tuple(stds))


def _chance_note(result: LearnerResult, split: SplitFacts) -> str:
    """The sentence on a learner of an evaluation whose scores are not above chance; "" where they are, or the protocol
    measures none.

    Repeats share cases, so the variance of their mean is that of Nadeau and Bengio.
    """
    known = [pair for pair in SCORES if f"{pair[0]}@{K}" in result.scores]
    if not known or any(_is_above(result, split, *pair) for pair in known):
        return ""
    return at_chance(result.scores[f"{known[0][0]}@{K}"].mean, result.scores[f"{known[0][1]}@{K}"].mean)


def _is_above(result: LearnerResult, split: SplitFacts, score: str, chance: str) -> bool:
    pairs = zip(result.scores[f"{score}@{K}"].values, result.scores[f"{chance}@{K}"].values, strict=True)
    gains = np.array([a - b for a, b in pairs if a is not None and b is not None])
    if len(gains) < 2:
        ends = result.scores[f"{score}@{K}"].ci95
        # One repeat has an interval where its queries were drawn again.
        lower = gains if ends is None else ends[0] - result.scores[f"{chance}@{K}"].mean
        return bool(np.mean(lower) > 0.0) if len(gains) else False
    error = corrected_variance(gains, split.n_train, split.n_test) ** 0.5
    return bool(gains.mean() > t_quantile(0.975, len(gains) - 1) * error)
