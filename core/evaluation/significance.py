"""Significance of the difference of two learners measured on the same splits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import NORMAL_95, corrected_variance, over_queries, t_quantile
from semblance.core.json_document import JsonDocument

#: Maximum number of pairs for the exact test.
_MAX_EXACT = 50


def holm_adjusted(p: Sequence[float]) -> list[float]:
    """The p values adjusted for being so many, in the same order (S. Holm, Scand. Journal of Statistics 6, 1979)."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return [min(1.0, float(value)) for value in adjusted]


@dataclass(frozen=True)
class ScoreDifference:
    """Mean of a - b over paired repeats, its 95 % interval and two-sided p value."""

    difference: float
    ci95: tuple[float, float]
    p_value: float


@dataclass(frozen=True)
class ScoreComparison(JsonDocument):
    """Learner ``a`` against learner ``b`` in one score."""

    a: str
    b: str
    score: str
    difference: float
    ci95: tuple[float, float]
    p_value: float


def wilcoxon_test(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Two-sided p value of Wilcoxon's (1945) signed-rank test of paired values; ``None`` without pairs.

    Equal pairs are left out (1 where all are); exact for up to 50 differences, those that tie included
    (Streitberg and Roehmel 1986), because the normal approximation is too optimistic for few pairs.
    The test is valid between tables. It is too optimistic between repeats, because random splits of the same cases
    are not independent.
    """
    from scipy.stats import rankdata, wilcoxon

    # Means that differ by rounding alone are equal.
    differences_of_pairs = [
        round(x - y, 12) for x, y in zip(a, b, strict=True) if x is not None and y is not None
    ]
    if not differences_of_pairs:
        return None
    nonzero = [difference for difference in differences_of_pairs if difference != 0.0]
    if not nonzero:
        return 1.0
    if len(nonzero) > _MAX_EXACT:
        return float(wilcoxon(nonzero, method="approx").pvalue)
    # Ranks of ties are multiples of 1/2, so twice the ranks and all their sums are integers.
    ranks = np.round(2.0 * rankdata(np.abs(nonzero))).astype(np.intp)
    total = int(ranks.sum())
    probabilities = np.zeros(total + 1)
    probabilities[0] = 1.0
    for rank in ranks.tolist():
        probabilities[rank:] = (probabilities[rank:] + probabilities[: total + 1 - rank]) / 2.0
        probabilities[:rank] /= 2.0
    positive_sum = int(ranks[np.array(nonzero) > 0.0].sum())
    extreme = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * positive_sum - total)
    return min(1.0, float(probabilities[extreme].sum()))


def paired_difference(
    differences: npt.NDArray[np.float64], *, seed: int, groups: npt.NDArray[np.intp] | None = None
) -> ScoreDifference:
    """Mean of the differences (q,) of paired queries, NaN where one has none, with its percentile bootstrap interval
    over queries, or whole patients ``groups`` (q,), and the p value by the standard error of the draws' normal
    approximation."""
    mean, low, high = (
        float(one[0]) for one in over_queries(differences[:, np.newaxis], seed=seed, groups=groups)
    )
    error = (high - low) / (2.0 * NORMAL_95)
    p_value = math.erfc(abs(mean) / error / 2.0**0.5) if error > 0.0 else float(mean == 0.0)
    return ScoreDifference(mean, (low, high), p_value)


def corrected_t_test(
    a: Sequence[float | None], b: Sequence[float | None], n_train: float, n_test: float
) -> ScoreDifference | None:
    """Corrected resampled t test (Nadeau & Bengio 2003) of values paired by split.

    ``n_train`` and ``n_test``: cases in each part of a split. ``None`` with fewer than two pairs, and where
    all pairs differ by the same amount: a few equal differences, usual on small test parts, have no variance
    to test with.
    """
    from scipy.special import stdtr

    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if len(pairs) < 2:
        return None
    differences = np.array([x - y for x, y in pairs], dtype=np.float64)
    mean, error = float(differences.mean()), corrected_variance(differences, n_train, n_test) ** 0.5
    if error <= 1e-12 * abs(mean) or error == 0.0:
        return ScoreDifference(0.0, (0.0, 0.0), 1.0) if mean == 0.0 else None
    degrees = len(differences) - 1
    half = t_quantile(0.975, degrees) * error
    return ScoreDifference(mean, (mean - half, mean + half), float(2.0 * stdtr(degrees, -abs(mean) / error)))
