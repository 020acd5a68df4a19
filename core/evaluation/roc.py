"""ROC curves and the area under them, one finding against the rest, ties counted exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.json_document import JsonDocument

Vector = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

#: False positive rates at which the curves of several repeats are averaged.
GRID = np.linspace(0.0, 1.0, 101)

#: Number of bootstrap draws.
DRAWS = 500


@dataclass(frozen=True, eq=False)
class Roc(JsonDocument):
    """Corners of one curve, from (0, 0) to (1, 1); both rates rise from 0 to 1."""

    fpr: Vector
    tpr: Vector


@dataclass(frozen=True)
class AucInterval:
    """Area under one curve with its 95 % interval (``None`` for too few cases)."""

    auc: float
    ci95: tuple[float, float] | None


def is_defined(positive: Truth) -> bool:
    """Whether there are positive and negative cases."""
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

    After DeLong, DeLong & Clarke-Pearson (1988); if ``patients`` (n,) have several cases, after Obuchowski
    (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53, which is equal for one case each.
    """
    value = auc(scores, positive)
    n, m = int(positive.sum()), int((~positive).sum())
    units = np.arange(len(scores)) if patients is None else np.unique(patients, return_inverse=True)[1]
    cases_of_patient = [np.bincount(units[side], minlength=units.max() + 1) for side in (positive, ~positive)]
    n_patients = [int(np.count_nonzero(one)) for one in cases_of_patient]
    if min(n_patients) < 2:
        return AucInterval(value, None)
    ranks = _midranks(scores)
    wins = np.empty(len(scores))
    wins[positive] = (ranks[positive] - _midranks(scores[positive])) / m
    wins[~positive] = 1.0 - (ranks[~positive] - _midranks(scores[~positive])) / n
    # What the cases of each patient contribute to the area, minus its mean.
    positive_parts, negative_parts = (
        np.bincount(units[side], wins[side] - value, minlength=units.max() + 1) / side.sum()
        for side in (positive, ~positive)
    )
    n_either = int(np.count_nonzero(cases_of_patient[0] + cases_of_patient[1]))
    variance = (
        n_patients[0] / (n_patients[0] - 1) * float(positive_parts @ positive_parts)
        + n_patients[1] / (n_patients[1] - 1) * float(negative_parts @ negative_parts)
        + 2.0 * n_either / (n_either - 1) * float(positive_parts @ negative_parts)
    )
    half_width = 1.959963984540054 * max(0.0, variance) ** 0.5
    return AucInterval(value, (max(0.0, value - half_width), min(1.0, value + half_width)))


def average(curves: Sequence[Roc]) -> Roc:
    """Mean true positive rate of several curves at the false positive rates of :data:`GRID`."""
    heights = [np.interp(GRID, *_upper(curve)) for curve in curves]
    return Roc(np.append(0.0, GRID), np.append(0.0, np.mean(heights, axis=0)))


def _upper(curve: Roc) -> tuple[Vector, Vector]:
    """The curve with only the top of every vertical part."""
    last = np.append(np.diff(curve.fpr) > 0, True)
    return curve.fpr[last], curve.tpr[last]


def _midranks(values: Vector) -> Vector:
    """1-based ranks, ties sharing the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle: Vector = np.cumsum(count) - (count - 1) / 2.0
    return middle[place]


def sensitivity_at(specificity: float) -> Callable[[Vector, Truth], float]:
    """Of ``scores`` (n,) and ``positive`` (n,): the sensitivity at the lowest threshold with this specificity.

    The threshold is one of the scores, or above all of them. Scores at or above it are positive.
    """

    def sensitivity(scores: Vector, positive: Truth) -> float:
        negative = np.sort(scores[~positive])
        max_alarms = int(np.floor((1.0 - specificity) * len(negative) + 1e-9))
        # Scores above the first negative that must not be an alarm are positive.
        threshold = negative[len(negative) - max_alarms - 1] if max_alarms < len(negative) else -np.inf
        return float((scores[positive] > threshold).mean())

    return sensitivity


def bootstrap(
    score: Callable[[Vector, Truth], float],
    scores: Vector,
    positive: Truth,
    *,
    seed: int,
    patients: Rows | None = None,
    draws: int = DRAWS,
) -> tuple[float, float] | None:
    """95 % percentile interval of ``score`` (Efron 1979), whole ``patients`` (n,) drawn with replacement.

    Draws without cases of both sides are left out; ``None`` if fewer than half of the draws remain.
    """
    unit = np.arange(len(scores)) if patients is None else np.unique(patients, return_inverse=True)[1]
    order = np.argsort(unit, kind="stable")
    ends = np.cumsum(np.bincount(unit))
    members = np.split(order, ends[:-1])
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        drawn = rng.integers(len(members), size=len(members))
        rows = drawn if patients is None else np.concatenate([members[one] for one in drawn])
        if is_defined(positive[rows]):
            found.append(score(scores[rows], positive[rows]))
    if not found or len(found) < draws / 2:
        return None
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
