"""One order from several, by ranks alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: The constant of the paper, which was chosen there on other data.
K = 60


def fused_scores(
    n: int, orders: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]], k: int = K
) -> npt.NDArray[np.float64]:
    """(n,) the fused scores of n cases, larger ones first, from ``orders``: places of cases and their ranks from 1. A
    case that an order does not have gets nothing from it.

    Reciprocal rank fusion: score(d) = sum over the orders of 1 / (k + rank(d)) (G. V. Cormack, C. L. A. Clarke and
    S. Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods", SIGIR 2009).
    """
    scores = np.zeros(n)
    for places, ranks in orders:
        scores[places] += 1.0 / (k + ranks)
    return scores
