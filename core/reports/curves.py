"""The curves of metrics that plots show, as numbers, as text and as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from semblance.core.csv_cells import csv_text
from semblance.core.language import format_number, tr, translate
from semblance.core.reports.formatting import spread_text

Numbers = tuple[float | None, ...]

#: The k of a retrieval accuracy that is given as one number.
ACCURACY_K = 10
ACCURACY, ROC, TRAINING, CALIBRATION = "retrieval_accuracy", "roc", "training", "calibration"
KINDS = (ACCURACY, ROC, TRAINING, CALIBRATION)


@dataclass(frozen=True)
class AccuracyCurve:
    """Retrieval accuracy at each ``k`` (ascending) with its 95 % interval; ``None`` where undefined.

    ``ceiling``: the largest that any order reaches at each k, given how many cases have each finding; ``chance``: the
    expected one of a random order. Empty and ``None`` where they are not known.
    ``current``: drawn in the accent colour. ``line`` is the style of the others (0 plain, 1 dashed, ...);
    ``None`` takes them in order. ``stale``: drawn faded, without its interval.
    """

    label: str
    k: tuple[int, ...]
    mean: Numbers
    low: Numbers
    high: Numbers
    current: bool = False
    line: int | None = None
    stale: bool = False
    ceiling: Numbers = ()
    chance: float | None = None

    def at(self, k: int = ACCURACY_K) -> tuple[int, float | None, float | None, float | None]:
        """k, mean, low and high at ``k``, or at the largest k below it."""
        place = max((i for i, value in enumerate(self.k) if value <= k), default=0)
        return self.k[place], self.mean[place], self.low[place], self.high[place]


@dataclass(frozen=True)
class RocCurve:
    """One finding against the rest: sensitivity ``tpr`` over ``fpr``, and the area with its 95 % interval.

    ``low`` and ``high`` are the 95 % interval of each sensitivity; empty where it is not known.
    """

    label: str
    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    auc: float
    auc_low: float | None
    auc_high: float | None
    current: bool = False
    line: int | None = None
    stale: bool = False
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class TrainingCurve:
    """The objective after each round, and accuracy @10 on held-out cases where it was measured."""

    label: str
    rounds: tuple[int, ...]
    objective: Numbers
    heldout_accuracy: Numbers
    current: bool = False
    line: int | None = None

    @property
    def best(self) -> tuple[int, float] | None:
        """Round and value of the best held-out accuracy; the first of equals."""
        measured = [
            (round_, value)
            for round_, value in zip(self.rounds, self.heldout_accuracy, strict=True)
            if _is_finite(value)
        ]
        return max(measured, key=lambda point: (point[1], -point[0])) if measured else None


@dataclass(frozen=True)
class CalibrationCurve:
    """Bins of cases by their estimate: the mean estimate, the share that had the finding with its 95 %
    interval, and how many cases.

    ``ece``: the expected calibration error; ``perfect``: the 95th percentile of the error of a perfectly
    calibrated forecaster. ``finding`` is empty where each case's estimate is for its own first finding.
    """

    label: str
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: tuple[int, ...]
    ece: float
    perfect: float
    method: str
    finding: str = ""
    current: bool = False
    stale: bool = False


Curve = AccuracyCurve | RocCurve | TrainingCurve | CalibrationCurve


def relative_objective(objective: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """The objective as a share of its first value: it falls from 1 towards 0. NaN where there is none.

    An objective with values at or below zero is scaled between its lowest (0) and highest (1) value.
    """
    values = np.array([math.nan if value is None else value for value in objective], dtype=np.float64)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.full(len(values), np.nan)
    lowest, span = float(finite.min()), float(np.ptp(finite))
    if finite[0] > 0 and lowest >= 0:
        values /= finite[0]
    else:
        values = (values - lowest) / (span or 1.0)
    values[~np.isfinite(values)] = np.nan
    return values


def interval_text(value: float | None, low: float | None, high: float | None) -> str:
    """``0.83 (0.78–0.87)``; without an interval the value alone; a dash where there is no value."""
    return translate(spread_text(value, low, high)) or "–"


def describe_curves(curves: Sequence[Curve]) -> str:
    """The content of a plot as text for screen readers: a sentence for every curve."""
    if not curves:
        return tr("Nothing to show yet.")
    return " ".join(_curve_text(curve) for curve in curves)


def curves_csv(kind: str, curves: Sequence[Curve], *, measured_on: str = "") -> str:
    """The numbers of the curves, a line for every point; ``measured_on`` is the last column of each.

    Raises:
        KeyError: an unknown kind.
    """
    header = (*_HEADERS[kind], "measured_on")
    return csv_text(header, ((curve.label, *row, measured_on) for curve in curves for row in _rows(curve)))


_HEADERS = {
    ACCURACY: ("metric", "k", "retrieval_accuracy", "low", "high", "ceiling", "chance"),
    ROC: ("metric", "false_positive_rate", "sensitivity", "low", "high", "auc", "auc_low", "auc_high"),
    TRAINING: ("metric", "round", "objective", "held_out_accuracy_at_10"),
    CALIBRATION: (
        "metric",
        "estimate",
        "observed_share",
        "low",
        "high",
        "cases",
        "calibration_error",
        "perfect_forecaster_95",
    ),
}


def _rows(curve: Curve) -> Iterable[tuple[float | None, ...]]:
    if isinstance(curve, AccuracyCurve):
        n = len(curve.k)
        ceiling = curve.ceiling or (None,) * n
        return zip(curve.k, curve.mean, curve.low, curve.high, ceiling, (curve.chance,) * n, strict=True)
    if isinstance(curve, TrainingCurve):
        return zip(curve.rounds, curve.objective, curve.heldout_accuracy, strict=True)
    if isinstance(curve, CalibrationCurve):
        bins = zip(curve.predicted, curve.observed, curve.low, curve.high, curve.n, strict=True)
        return ((*one, curve.ece, curve.perfect) for one in bins)
    low = curve.low or (None,) * len(curve.fpr)
    high = curve.high or (None,) * len(curve.fpr)
    area = (curve.auc, curve.auc_low, curve.auc_high)
    return ((*point, *area) for point in zip(curve.fpr, curve.tpr, low, high, strict=True))


def _curve_text(curve: Curve) -> str:
    name = tr("{name} (current)", name=curve.label) if curve.current else curve.label
    if isinstance(curve, AccuracyCurve):
        k, mean, low, high = curve.at()
        text = tr("{name}: accuracy at {k} is {value}.", name=name, k=k, value=_value_text(mean, low, high))
        ceiling = curve.ceiling[curve.k.index(k)] if curve.ceiling else None
        if not curve.current or ceiling is None or curve.chance is None:
            return text
        return (
            text
            + " "
            + tr(
                "At most {ceiling:.2f} can be reached, chance gives {chance:.2f}.",
                ceiling=ceiling,
                chance=curve.chance,
            )
        )
    if isinstance(curve, RocCurve):
        return tr(
            "{name}: area under the curve {value}.",
            name=name,
            value=_value_text(curve.auc, curve.auc_low, curve.auc_high),
        )
    if isinstance(curve, CalibrationCurve):
        return tr(
            "{name}: calibration error {error:.3f} on {n:,} cases; by chance alone up to {perfect:.3f}.",
            name=name,
            error=curve.ece,
            n=sum(curve.n),
            perfect=curve.perfect,
        )
    if not curve.rounds:
        return tr("{name}: no round yet.", name=name)
    best = curve.best
    n = curve.rounds[-1]
    if not best:
        return tr("{name}: {n} rounds.", name=name, n=n)
    return tr(
        "{name}: {n} rounds, best held-out accuracy {best:.2f} in round {at}.",
        name=name,
        n=n,
        best=best[1],
        at=best[0],
    )


def _value_text(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return tr("not defined")
    if low is None or high is None:
        return format_number(value, ".2f")
    return tr("{value:.2f}, 95 % interval {low:.2f} to {high:.2f}", value=value, low=low, high=high)


def _is_finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
