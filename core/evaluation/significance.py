"""Whether two learners, measured on the same splits, really differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from semblance.core.evaluation.intervals import corrected_variance, t_quantile

#: Pairs up to which all signs are gone through.
_MOST_EXACT = 50


@dataclass(frozen=True)
class Difference:
    """Mean of a - b over paired repeats, its 95 % interval and two-sided p value."""

    difference: float
    ci95: tuple[float, float]
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """Learner ``a`` against learner ``b`` in one score."""

    a: str
    b: str
    score: str
    difference: float
    ci95: tuple[float, float]
    p_value: float

    def to_json(self) -> dict[str, Any]:
        """One of the ``comparisons`` of an evaluation in CONTRACT.md."""
        return {**asdict(self), "ci95": list(self.ci95)}


def wilcoxon_test(a: Sequence[float | None], b: Sequence[float | None]) -> float | None:
    """Two-sided p value of Wilcoxon's (1945) signed-rank test of paired values; ``None`` without pairs.

    Equal pairs are left out (1 where all are); exact for up to 50 differences, those that tie included
    (Streitberg and Roehmel 1986), where the normal distribution would claim more than so few pairs can tell.
    Values of random splits of the same cases are not independent: between tables the test holds, between
    repeats it says too much.
    """
    from scipy.stats import rankdata, wilcoxon

    # Means that differ by rounding alone are equal.
    apart = [round(x - y, 12) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not apart:
        return None
    there = [difference for difference in apart if difference != 0.0]
    if not there:
        return 1.0
    if len(there) > _MOST_EXACT:
        return float(wilcoxon(there, method="approx").pvalue)
    # Shared ranks are halves: twice as large they are whole, and so are the sums of any of them.
    ranks = np.round(2.0 * rankdata(np.abs(there))).astype(np.intp)
    total = int(ranks.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in ranks.tolist():
        chance[rank:] = (chance[rank:] + chance[: total + 1 - rank]) / 2.0
        chance[:rank] /= 2.0
    seen = int(ranks[np.array(there) > 0.0].sum())
    extreme = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * seen - total)
    return min(1.0, float(chance[extreme].sum()))


def corrected_t_test(
    a: Sequence[float | None], b: Sequence[float | None], n_train: float, n_test: float
) -> Difference | None:
    """Corrected resampled t test (Nadeau & Bengio 2003) of values paired by split.

    ``n_train`` and ``n_test``: cases in each part of a split. ``None`` with fewer than two pairs, and where
    all pairs differ by the same amount: a few equal differences, usual on small test parts, have no variance
    to judge them by, and are no certainty.
    """
    from scipy.special import stdtr

    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if len(pairs) < 2:
        return None
    differences = np.array([x - y for x, y in pairs], dtype=np.float64)
    mean, error = float(differences.mean()), corrected_variance(differences, n_train, n_test) ** 0.5
    if error <= 1e-12 * abs(mean) or error == 0.0:
        return Difference(0.0, (0.0, 0.0), 1.0) if mean == 0.0 else None
    degrees = len(differences) - 1
    half = t_quantile(0.975, degrees) * error
    return Difference(mean, (mean - half, mean + half), float(2.0 * stdtr(degrees, -abs(mean) / error)))
