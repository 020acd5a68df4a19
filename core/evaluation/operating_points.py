"""The sensitivity at a specificity, and bootstrap intervals that draw whole patients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semblance.core.evaluation.roc import Truth, Vector, is_defined
from semblance.core.evaluation.splits import Rows

#: Number of bootstrap draws.
DRAWS = 500


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
