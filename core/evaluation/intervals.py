"""Intervals of scores, over repeats and over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.json_document import JsonDocument

Interval = tuple[float, float]
Matrix = npt.NDArray[np.float64]

#: Two-sided 95 % of the normal distribution.
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class ScoreSummary(JsonDocument):
    """One score over the repeats; ``values`` are ``None`` for repeats without this score.

    ``std`` (n - 1) and ``ci95`` are ``None`` with fewer than two values; the protocols that have an interval over the
    queries give it as ``ci95`` of a single repeat.
    """

    mean: float
    std: float | None
    ci95: tuple[float, float] | None
    values: tuple[float | None, ...]


def t_quantile(probability: float, degrees: float) -> float:
    """Student's t below which ``probability`` lies."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def wilson(share: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Any, Any]:
    """95 % interval of a ``share`` of ``n`` cases, both numbers or of one shape; Wilson (1927)."""
    p, cases = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    middle = (p + NORMAL_95**2 / (2 * cases)) / (1 + NORMAL_95**2 / cases)
    half = (
        NORMAL_95 / (1 + NORMAL_95**2 / cases) * np.sqrt(p * (1 - p) / cases + NORMAL_95**2 / (4 * cases**2))
    )
    low, high = np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
    return (low, high) if p.ndim else (float(low), float(high))


def over_repeats(values: Sequence[float | None]) -> ScoreSummary:
    """Mean, standard deviation and 95 % t interval over repeats; that of fractions stays within 0..1.

    The interval is that of the mean over random splits of *these* cases. Repeats share cases,
    so differences between learners are tested by :mod:`semblance.core.evaluation.significance` instead.

    Raises:
        ValueError: no value at all.
    """
    present = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(present):
        raise ValueError("a summary needs a value")
    mean, n = float(present.mean()), len(present)
    if n < 2:
        return ScoreSummary(mean, None, None, tuple(values))
    std = float(present.std(ddof=1))
    half = t_quantile(0.975, n - 1) * std / n**0.5
    low, high = mean - half, mean + half
    if present.min() >= 0.0 and present.max() <= 1.0:
        low, high = max(0.0, low), min(1.0, high)
    return ScoreSummary(mean, std, (low, high), tuple(values))


def over_queries(
    per_query: Matrix, *, seed: int, groups: npt.NDArray[np.intp] | None = None, draws: int = 1000
) -> tuple[Matrix, Matrix, Matrix]:
    """Mean, and lower and upper end of its 95 % percentile bootstrap interval, each (K,).

    ``per_query`` (q, K), NaN where a query has no value. With ``groups`` (q,) whole patients are drawn,
    because their cases are not independent.
    """
    has = ~np.isnan(per_query)
    unit = np.arange(len(per_query)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max(initial=-1)) + 1
    totals, counts = np.zeros((n_units, per_query.shape[1])), np.zeros((n_units, per_query.shape[1]))
    np.add.at(totals, unit, np.where(has, per_query, 0.0))
    np.add.at(counts, unit, has.astype(np.float64))
    rng = np.random.default_rng(seed)
    means = np.empty((draws, per_query.shape[1]))
    step = max(1, 2_000_000 // max(1, n_units))
    for start in range(0, draws, step):
        some = min(step, draws - start)
        times = rng.multinomial(n_units, np.full(n_units, 1.0 / n_units), size=some).astype(np.float64)
        means[start : start + some] = _ratio(times @ totals, times @ counts)
    mean = _ratio(totals.sum(axis=0), counts.sum(axis=0))
    low, high = _percentiles(means)
    return mean, low, high


def over_findings(
    values: npt.NDArray[np.float64],
    findings: npt.NDArray[np.intp],
    *,
    seed: int,
    groups: npt.NDArray[np.intp] | None = None,
    draws: int = 1000,
) -> tuple[float, float, float]:
    """The mean over findings of the means of their queries, and its interval as that of :func:`over_queries`.

    ``values`` (q,), NaN where a query has none; ``findings`` (q,) numbers. A draw without a finding is the mean of the
    others.
    """
    from scipy.sparse import csr_array

    has = ~np.isnan(values)
    unit = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    code = np.unique(findings, return_inverse=True)[1]
    shape = int(unit.max(initial=-1)) + 1, int(code.max(initial=-1)) + 1
    cells = unit[has], code[has]
    totals, counts = (
        csr_array((values[has], cells), shape),
        csr_array((np.ones(int(has.sum())), cells), shape),
    )
    rng = np.random.default_rng(seed)
    means = np.empty(draws)
    step = max(1, 2_000_000 // max(1, *shape))
    for start in range(0, draws, step):
        some = min(step, draws - start)
        times = rng.multinomial(shape[0], np.full(shape[0], 1.0 / shape[0]), size=some).astype(np.float64)
        means[start : start + some] = _mean_present(
            _ratio(np.asarray(times @ totals), np.asarray(times @ counts))
        )
    mean = _mean_present(_ratio(totals.sum(axis=0)[np.newaxis], counts.sum(axis=0)[np.newaxis]))
    low, high = _percentiles(means[:, np.newaxis])
    return float(mean[0]), float(low[0]), float(high[0])


def _mean_present(values: Matrix) -> npt.NDArray[np.float64]:
    """(n,) the means of the rows (n, c) over what is not NaN."""
    has = ~np.isnan(values)
    return _ratio(np.where(has, values, 0.0).sum(axis=1), has.sum(axis=1).astype(np.float64))


def _percentiles(means: Matrix) -> tuple[Matrix, Matrix]:
    ends = np.full((2, means.shape[1]), np.nan)
    for column in range(means.shape[1]):
        present = means[~np.isnan(means[:, column]), column]
        if len(present):
            ends[:, column] = np.percentile(present, [2.5, 97.5])
    return ends[0], ends[1]


def _ratio(total: Matrix, count: Matrix) -> Matrix:
    ratio: Matrix = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    return ratio


def corrected_variance(differences: Matrix, n_train: float, n_test: float) -> float:
    """Variance of the mean of paired ``differences`` (r,) over r random splits of the same cases.

    (1/r + n_test/n_train) times their variance: Nadeau & Bengio (2003), Eq. 9; splits share cases, so
    1/r alone is far too small.
    """
    return float((1.0 / len(differences) + n_test / n_train) * differences.var(ddof=1))
