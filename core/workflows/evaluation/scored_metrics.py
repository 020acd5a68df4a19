"""Compare the metrics of a library: their held-out scores as rows and as curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.csv_cells import csv_text
from semblance.core.evaluation.calibration import PLATT, Calibration, stored_calibration
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS, MetricScores, stored_scores
from semblance.core.evaluation.intervals import wilson
from semblance.core.evaluation.shuffled_control import ShuffledControl, stored_control
from semblance.core.language import tr_lazy
from semblance.core.library.metric_scores import is_changed_since
from semblance.core.library.vault import VaultOpening, stored_openings
from semblance.core.reports.curves import AccuracyCurve, CalibrationCurve, RocCurve, TrainingCurve
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, MetricFacts
from semblance.core.workflows.metrics.leakage import COUNTED

#: Lines of a plot at most, so that it stays readable; the table has all metrics.
MOST_DRAWN = 5
#: The k of the table of scores.
TABLE_K = (1, 10, 50)
HELD_OUT, UNKNOWN, TRAINING, STALE = "held-out", "unknown", "training", "stale"
_TRUST = (HELD_OUT, UNKNOWN, TRAINING, STALE)


@dataclass(frozen=True, eq=False)
class ScoredMetric:
    """A metric and its scores; ``None`` if it was never scored.

    ``stale``: the library has cases it was not measured on, or was given other findings, or it was never measured.
    """

    name: str
    learner: str
    features: str
    scores: MetricScores | None
    training: TrainingCurve | None
    stale: bool
    seed: int | None
    calibration: Calibration | None = None
    #: Whether the scoring tried to calibrate its vote.
    control: ShuffledControl | None = None
    openings: tuple[VaultOpening, ...] = ()

    @property
    def ece(self) -> float | None:
        """The expected calibration error of its vote."""
        return None if self.calibration is None else self.calibration.ece

    @property
    def has_held_out_cases(self) -> bool:
        """Whether cases were held out to measure it on; not where it was trained on all."""
        return self.scores is not None or self.seed is not None

    @property
    def measured(self) -> str:
        """On what it was measured: "held-out" patients, "unknown" patients, "training", or "stale"."""
        if self.stale or self.scores is None:
            return STALE
        return _measured(self.scores.measured_on)

    def accuracy(self, k: int) -> tuple[float | None, float | None, float | None]:
        """Retrieval accuracy @ ``k`` with its interval; ``None`` beyond the k there is."""
        if self.scores is None or k > len(self.scores.retrieval_accuracy.k):
            return None, None, None
        return self.scores.retrieval_accuracy.at(k)


def scored_metrics(snapshot: LibrarySnapshot) -> tuple[ScoredMetric, ...]:
    """Every metric of the library, the best accuracy @10 first and stale ones last; scores that cannot be
    read count as none."""
    metrics = [_scored(metric, snapshot) for metric in snapshot.metrics]
    return tuple(sorted(metrics, key=lambda metric: (metric.stale, -_at_10(metric))))


def compared_accuracies(snapshot: LibrarySnapshot, one: str, other: str) -> tuple[int, float, float] | None:
    """k and the accuracies @k of two metrics: 10, or the largest k of both. ``None`` unless both have valid scores."""
    by_name = {metric.name: metric for metric in scored_metrics(snapshot) if not metric.stale}
    both = [by_name[name].scores for name in (one, other) if name in by_name]
    curves = [scores.retrieval_accuracy for scores in both if scores is not None]
    if len(curves) < 2:
        return None
    k = min(10, *(len(curve.k) for curve in curves))
    first, second = (curve.at(k)[0] for curve in curves)
    return None if first is None or second is None else (k, first, second)


def plotted_metrics(metrics: Sequence[ScoredMetric], current: str) -> list[tuple[ScoredMetric, int | None]]:
    """The metrics that plots show, each with the number of its line: the current metric (``None``), the plain
    distance as the baseline, and the best of the others. Stale ones are left out unless current."""
    first = [metric for metric in metrics if metric.name == current and metric.scores is not None]
    others = [
        metric
        for metric in metrics
        if metric.name != current and metric.scores is not None and not metric.stale
    ]
    others.sort(key=lambda metric: (metric.learner != "euclidean", -_at_10(metric)))
    shown = others[: MOST_DRAWN - 1]
    return [(metric, None) for metric in first] + [(metric, line) for line, metric in enumerate(shown)]


def least_trusted(metrics: Sequence[ScoredMetric]) -> str:
    """The least trustworthy of several provenances; held-out if nothing is shown."""
    return max((metric.measured for metric in metrics), key=_TRUST.index, default=HELD_OUT)


def roc_findings(metrics: Sequence[ScoredMetric], order: Sequence[str] = ()) -> list[str]:
    """Findings some metric has a ROC of: those of ``order`` first, as there, then by name."""
    names = {finding for metric in metrics if metric.scores for finding in metric.scores.roc}
    known = [name for name in order if name in names]
    return known + sorted(names.difference(known))


def accuracy_curves(
    metrics: Sequence[ScoredMetric], current: str, *, max_k: int | None = None
) -> tuple[AccuracyCurve, ...]:
    """Retrieval accuracy of what is drawn, up to ``max_k``."""
    curves = []
    for metric, line in plotted_metrics(metrics, current):
        assert metric.scores is not None
        scores = metric.scores.retrieval_accuracy
        curves.append(
            AccuracyCurve(
                metric.name,
                scores.k[:max_k],
                scores.mean[:max_k],
                scores.low[:max_k],
                scores.high[:max_k],
                current=line is None,
                line=line,
                stale=metric.stale,
                ceiling=metric.scores.ceiling[:max_k],
                chance=metric.scores.chance,
            )
        )
    return tuple(curves)


def roc_curves(metrics: Sequence[ScoredMetric], current: str, finding: str) -> tuple[RocCurve, ...]:
    """``finding`` against the rest, with the 95 % interval of each sensitivity."""
    curves = []
    for metric, line in plotted_metrics(metrics, current):
        assert metric.scores is not None
        roc = metric.scores.roc.get(finding)
        if roc is None:
            continue
        low, high = sensitivity_interval(roc.tpr, metric.scores.findings.get(finding, 0))
        area = roc.ci95 or (None, None)
        curves.append(
            RocCurve(
                metric.name,
                roc.fpr,
                roc.tpr,
                roc.auc,
                area[0],
                area[1],
                current=line is None,
                line=line,
                stale=metric.stale,
                low=low,
                high=high,
            )
        )
    return tuple(curves)


def training_curves(metrics: Sequence[ScoredMetric], current: str) -> tuple[TrainingCurve, ...]:
    """The stored training curve of the current metric; none where it was not trained in rounds."""
    return tuple(m.training for m in metrics if m.name == current and m.training is not None)


def calibration_curves(metrics: Sequence[ScoredMetric], current: str) -> tuple[CalibrationCurve, ...]:
    """The reliability of the current metric's estimates; none if its vote is not calibrated."""
    found = next((metric for metric in metrics if metric.name == current), None)
    if found is None or found.calibration is None:
        return ()
    made = found.calibration
    columns = zip(*((b.predicted, b.observed, *b.interval) for b in made.bins), strict=True)
    predicted, observed, low, high = (tuple(column) for column in columns)
    return (
        CalibrationCurve(
            found.name,
            predicted,
            observed,
            low,
            high,
            tuple(b.n for b in made.bins),
            made.ece,
            made.perfect,
            tr_lazy("Platt's curve") if made.method == PLATT else tr_lazy("isotonic curve"),
            made.finding or "",
            current=True,
            stale=found.stale,
        ),
    )


def scores_csv(metrics: Sequence[ScoredMetric]) -> str:
    """Every metric with its scores and on what they were measured; empty where there is none."""
    at = [f"accuracy_at_{k}{end}" for k in TABLE_K for end in ("", "_low", "_high")]
    header = (
        "metric",
        "learner",
        "features",
        *at,
        "chance_at_10",
        "macro_accuracy_at_10",
        "macro_accuracy_at_10_low",
        "macro_accuracy_at_10_high",
        "macro_chance_at_10",
        "worst_finding_at_10",
        "worst_finding",
        "mean_auc",
        "calibration_error",
        "n_train",
        "n_held_out",
        "n_queries",
        "measured_on",
        "seed",
        "shuffled_control_at_10",
        "vault_openings",
        "vault_accuracy_at_10",
    )
    rows = []
    for metric in metrics:
        scores = metric.scores
        measured: tuple[float | None, ...] = (None,) * 5
        if scores is not None:
            measured = (scores.mean_auc, metric.ece, scores.n_train, scores.n_test, scores.n_queries)
        measured_on = "" if scores is None else scores.measured_on + (", stale" if metric.stale else "")
        numbers = [value for k in TABLE_K for value in metric.accuracy(k)]
        beside: tuple[float | str | None, ...] = (None,) * 7
        if scores is not None:
            macro = scores.macro
            of_findings = (None,) * 3 if macro is None else (macro.mean, macro.low, macro.high)
            worst = (None, None) if scores.worst is None else (scores.worst[1].mean, scores.worst[0])
            beside = (scores.chance, *of_findings, scores.macro_chance, *worst)
        control = None if metric.control is None else metric.control.accuracy
        names = (metric.name, metric.learner, metric.features)
        numbered = "; ".join(f"{one.number} ({one.time})" for one in metric.openings)
        vault = metric.openings[-1].result["accuracy"][0] if metric.openings else None
        rows.append(
            (*names, *numbers, *beside, *measured, measured_on, metric.seed, control, numbered, vault)
        )
    return csv_text(header, rows)


def sensitivity_interval(shares: Sequence[float], n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """95 % interval of each share of ``n`` cases, Wilson (1927); empty without cases."""
    if n < 1:
        return (), ()
    low, high = wilson(np.asarray(shares, dtype=np.float64), n)
    return tuple(low.tolist()), tuple(high.tolist())


def is_stale(metric: MetricFacts, snapshot: LibrarySnapshot) -> bool:
    """Whether the library has cases or findings that ``metric`` was not measured on."""
    scores = stored_scores(metric.scores)
    return scores is None or _outdated(metric, scores, snapshot)


def _scored(metric: MetricFacts, snapshot: LibrarySnapshot) -> ScoredMetric:
    scores = stored_scores(metric.scores)
    split = metric.card.get("split")
    seed = split.get("seed") if isinstance(split, Mapping) else None
    return ScoredMetric(
        metric.name,
        metric.learner,
        metric.features,
        scores,
        _training(metric),
        scores is None or _outdated(metric, scores, snapshot),
        seed if isinstance(seed, int) else None,
        stored_calibration(metric.scores),
        stored_control(metric.scores),
        stored_openings(metric.scores),
    )


def _at_10(metric: ScoredMetric) -> float:
    if metric.scores is None:
        return -1.0
    return metric.scores.retrieval_accuracy.at(10)[0] or 0.0


def _outdated(metric: MetricFacts, scores: MetricScores, snapshot: LibrarySnapshot) -> bool:
    """Whether the scores are out of date: findings, patients or cases changed since, or the library has more held-out
    cases now, as far as the columns tell."""
    if is_changed_since(metric.scores):
        return True
    having = next((s.cases for s in snapshot.feature_sets if s.name == metric.features), 0)
    if having != len(snapshot.columns) or metric.card.get("findings_map"):
        return False
    then = (metric.scores or {}).get(COUNTED, scores.n_test)
    return bool(snapshot.held_out[metric.name] != then)


def _measured(measured_on: str) -> str:
    if measured_on == HELD_OUT_PATIENTS:
        return HELD_OUT
    return TRAINING if "training" in measured_on else UNKNOWN


def _training(metric: MetricFacts) -> TrainingCurve | None:
    points = (metric.scores or {}).get("training_curve")
    if not isinstance(points, list) or not points:
        return None
    try:
        rounds, objective, accuracy = zip(*points, strict=True)
        return TrainingCurve(
            metric.name,
            tuple(int(value) for value in rounds),
            tuple(_number(value) for value in objective),
            tuple(_number(value) for value in accuracy),
            current=True,
        )
    except (TypeError, ValueError):
        return None


def _number(value: Any) -> float | None:
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else None
