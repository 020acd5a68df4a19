"""Where a query stands once cases were named that are, and are not, what is meant.

Moving the query is relevance feedback after Rocchio (1971). His weights count in a space of angles; here
places count, so the weights of query and likes sum to one: otherwise everything would drift to the origin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.core.metrics.distance import Matrix

#: How far the query moves away from the middle of what is not meant, in units of their distance; chosen on
#: ionosphere and balance_scale (benchmarks), with right and with 20 % wrong examples.
AWAY = 1.0


def shifted_query(query: Matrix, like: Sequence[Matrix], unlike: Sequence[Matrix]) -> Matrix:
    """(m,) the mean of ``query`` and ``like`` (each (m,)), pushed AWAY from the mean of ``unlike``.

    Each example counts as much as the query itself. The order of examples changes nothing.
    """
    middle = np.mean([query, *like], axis=0)
    if len(unlike):
        middle = middle + AWAY * (middle - np.mean(list(unlike), axis=0))
    out: Matrix = middle
    return out
