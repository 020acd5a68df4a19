"""Whether two learners, measured on the same splits, really differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.evaluation.intervals import corrected_variance, t_quantile


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
        return {**asdict(self), "ci95": list(self.ci95)}


def corrected_t_test(
    a: Sequence[float | None], b: Sequence[float | None], n_train: float, n_test: float
) -> Difference | None:
    """Corrected resampled t test (Nadeau & Bengio 2003) of values paired by split.

    ``n_train`` and ``n_test``: cases in each part of a split. ``None`` with fewer than two pairs.
    """
    from scipy.special import stdtr

    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if len(pairs) < 2:
        return None
    differences = np.array([x - y for x, y in pairs], dtype=np.float64)
    mean, error = float(differences.mean()), corrected_variance(differences, n_train, n_test) ** 0.5
    if error <= 1e-12 * abs(mean) or error == 0.0:
        return Difference(mean, (mean, mean), 1.0 if mean == 0.0 else 0.0)
    degrees = len(differences) - 1
    half = t_quantile(0.975, degrees) * error
    return Difference(mean, (mean - half, mean + half), float(2.0 * stdtr(degrees, -abs(mean) / error)))
