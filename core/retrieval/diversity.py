"""Diverse ranking: maximal marginal relevance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

#: Number of candidates for each case to rank.
AMONG = 5


def diverse_order(distances: Matrix, coordinates: Matrix, k: int, share: float) -> Rows:
    """(min(k, n),) positions of candidates, each the one nearest to the query and farthest from those before.

    ``distances`` (n,) squared, ascending, of candidates with ``coordinates`` (n, m). After Carbonell and
    Goldstein (1998), Eq. 1, with similarity the negative distance (not squared): the next candidate has the
    least (1 - share) d(query) - share min d(chosen). ``share`` 0 keeps the order; the nearest is first.
    """
    n = len(distances)
    k = min(k, n)
    if share <= 0.0 or k < 2:
        return np.arange(k)
    to_query = np.sqrt(np.maximum(distances, 0.0))
    nearest = np.full(n, np.inf)
    chosen = np.zeros(k, dtype=np.int64)
    left = np.ones(n, dtype=np.bool_)
    for place in range(k):
        last = int(chosen[place - 1]) if place else 0
        if place:
            difference = coordinates - coordinates[last]
            np.minimum(nearest, np.sqrt(np.einsum("ij,ij->i", difference, difference)), out=nearest)
            score = (1.0 - share) * to_query - share * nearest
            last = int(np.where(left, score, np.inf).argmin())
        chosen[place] = last
        left[last] = False
    return chosen
