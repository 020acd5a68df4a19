"""Positive and negative examples shift the query.

This is the relevance feedback of Rocchio (1971). His weights are for a space of angles. Here positions matter, so
the weights of the query and of the positive examples sum to one. Otherwise the query would move to the origin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.core.metrics.distance import Matrix

#: How far the query moves away from the mean of the negative examples, in units of their distance. Chosen on
#: ionosphere and balance_scale (benchmarks), with correct and with 20 % wrong examples.
UNLIKE_SHIFT = 1.0


def shifted_query(query: Matrix, like: Sequence[Matrix], unlike: Sequence[Matrix]) -> Matrix:
    """(m,) the mean of ``query`` and ``like`` (each (m,)), moved away from the mean of ``unlike``.

    Each example has the weight of the query. The order of the examples does not matter.
    """
    centre = np.mean([query, *like], axis=0)
    if len(unlike):
        centre = centre + UNLIKE_SHIFT * (centre - np.mean(list(unlike), axis=0))
    out: Matrix = centre
    return out
