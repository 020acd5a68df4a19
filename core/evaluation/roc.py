"""ROC curves and the area under them, one finding against the rest, ties counted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

#: False positive rates at which the curves of several repeats are averaged.
GRID = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True, eq=False)
class Roc:
    """Corners of one curve, from (0, 0) to (1, 1); both rates rise from 0 to 1."""

    fpr: Vector
    tpr: Vector


@dataclass(frozen=True)
class AucInterval:
    """Area under one curve with its 95 % interval (``None`` where too few cases tell)."""

    auc: float
    ci95: tuple[float, float] | None


def is_defined(positive: Truth) -> bool:
    """True when there are cases of both sides to tell apart."""
    return bool(positive.any()) and not bool(positive.all())


def roc(scores: Vector, positive: Truth) -> Roc:
    """The curve of ``scores`` (n,), higher meaning more likely positive; one corner per distinct score."""
    order = np.argsort(-scores, kind="stable")
    last_of_score = np.append(np.diff(scores[order]) != 0, True)
    hits = np.cumsum(positive[order])[last_of_score]
    alarms = np.cumsum(~positive[order])[last_of_score]
    return Roc(np.append(0.0, alarms / alarms[-1]), np.append(0.0, hits / hits[-1]))


def auc(scores: Vector, positive: Truth) -> float:
    """Chance that a positive case scores above a negative one, ties counting half (Mann-Whitney)."""
    ranks = _midranks(scores)
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def auc_with_interval(scores: Vector, positive: Truth, patients: Rows | None = None) -> AucInterval:
    """AUC and its 95 % interval, cut to 0..1; ``None`` with fewer than two patients of either side.

    After DeLong, DeLong & Clarke-Pearson (1988); where ``patients`` (n,) have several cases after Obuchowski
    (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53, which is the same for one each.
    """
    value = auc(scores, positive)
    n, m = int(positive.sum()), int((~positive).sum())
    own = np.arange(len(scores)) if patients is None else np.unique(patients, return_inverse=True)[1]
    holds = [np.bincount(own[side], minlength=own.max() + 1) for side in (positive, ~positive)]
    known = [int(np.count_nonzero(one)) for one in holds]
    if min(known) < 2:
        return AucInterval(value, None)
    ranks = _midranks(scores)
    wins = np.empty(len(scores))
    wins[positive] = (ranks[positive] - _midranks(scores[positive])) / m
    wins[~positive] = 1.0 - (ranks[~positive] - _midranks(scores[~positive])) / n
    # What each patient's cases of either side add to the area beyond their share of it.
    of_positive, of_negative = (
        np.bincount(own[side], wins[side] - value, minlength=own.max() + 1) / side.sum()
        for side in (positive, ~positive)
    )
    either = int(np.count_nonzero(holds[0] + holds[1]))
    variance = (
        known[0] / (known[0] - 1) * float(of_positive @ of_positive)
        + known[1] / (known[1] - 1) * float(of_negative @ of_negative)
        + 2.0 * either / (either - 1) * float(of_positive @ of_negative)
    )
    spread = 1.959963984540054 * max(0.0, variance) ** 0.5
    return AucInterval(value, (max(0.0, value - spread), min(1.0, value + spread)))


def average(curves: Sequence[Roc]) -> Roc:
    """Mean true positive rate of several curves at the false positive rates of :data:`GRID`."""
    heights = [np.interp(GRID, *_upper(curve)) for curve in curves]
    return Roc(np.append(0.0, GRID), np.append(0.0, np.mean(heights, axis=0)))


def _upper(curve: Roc) -> tuple[Vector, Vector]:
    """The curve with the top of every vertical stretch only."""
    last = np.append(np.diff(curve.fpr) > 0, True)
    return curve.fpr[last], curve.tpr[last]


def _midranks(values: Vector) -> Vector:
    """1-based ranks, ties sharing the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle: Vector = np.cumsum(count) - (count - 1) / 2.0
    return middle[place]
