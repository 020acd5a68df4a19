"""Shapley values: shares of groups of features in a common change."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

#: Up to so many groups every subset is evaluated; with more, seeded orders are.
EXACT_GROUPS = 9
#: Rows evaluated for one pair of cases if orders are drawn.
ROWS = 2048


@functools.cache
def subsets(groups: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(2^G, G) the subsets, 1 for what is in, and (G, 2^G) the weights that make shares of their values.

    Shapley, A value for n-person games, 1953: the share of a group is what it adds, on average over all
    orders in which the groups can come.
    """
    rows = np.arange(1 << groups)
    inside = ((rows[:, np.newaxis] >> np.arange(groups)) & 1).astype(np.float64)
    size = inside.sum(axis=1).astype(int)
    factorial = [math.factorial(number) for number in range(groups + 1)]
    joins = np.array(
        [factorial[s] * factorial[groups - s - 1] if s < groups else 0 for s in range(groups + 1)]
    )
    joins = joins / factorial[groups]
    weights = np.where(inside.T > 0, joins[np.maximum(size - 1, 0)], -joins[size])
    return inside, weights


def shapley_shares(
    value: Callable[[Matrix], Matrix], start: Matrix, end: Matrix, steps: Matrix, rows: int = ROWS
) -> Matrix:
    """(G, T) shares of ``value(end) - value(start)``, which they sum to but for rounding.

    ``value`` maps (r, d) to (r, T); ``start`` and ``end`` (d,); ``steps`` (G, d) sum to end - start. Up to
    :data:`EXACT_GROUPS` groups that change anything get their Shapley values, more of them the average over
    seeded orders and their reverses (at most ``rows`` rows are tried), which sums as exactly.
    """
    moving = np.flatnonzero((steps != 0.0).any(axis=1))
    whole = value(np.stack([start, end]))
    out = np.zeros((len(steps), whole.shape[1]))
    if not len(moving):
        return out
    if len(moving) <= EXACT_GROUPS and 1 << len(moving) <= rows:
        inside, weights = subsets(len(moving))
        values = np.empty((len(inside), whole.shape[1]))
        # The ends are exact, because rounding at a threshold would give another value.
        values[[0, -1]] = whole
        if len(inside) > 2:
            values[1:-1] = value(start + inside[1:-1] @ steps[moving])
        out[moving] = weights @ values
        return out
    pairs = max(1, rows // (2 * len(moving)))
    rng = np.random.default_rng(0)
    for _ in range(pairs):
        order = rng.permutation(len(moving))
        for one in (order, order[::-1]):
            between = start + np.cumsum(steps[moving[one]], axis=0)[:-1]
            values = np.concatenate([whole[:1], value(between) if len(between) else whole[:0], whole[1:]])
            out[moving[one]] += np.diff(values, axis=0)
    out /= 2 * pairs
    return out
