"""The largest distance between two training cases: C of MetricBoost's normalised weak models."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

_BLOCK = 1 << 20


def largest_squared_distance(X: Matrix, reporter: Reporter) -> float:
    """max |x - x'|^2 over the rows of ``X`` (n, d) (Bi et al. 2011, 3.2: C squared).

    Only rows far enough from the mean to reach the largest distance so far are compared.
    """
    centred = X - X.mean(axis=0)
    norms = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    if not norms.max(initial=0.0) > 0.0:
        return 0.0
    largest, start = 0.0, int(norms.argmax())
    for _ in range(4):
        difference = centred - centred[start]
        squares = np.einsum("ij,ij->i", difference, difference)
        start, largest = int(squares.argmax()), max(largest, float(squares.max()))
    far = np.flatnonzero(norms + norms.max() >= np.sqrt(largest) * (1.0 - 1e-9))
    rows, lengths = centred[far], norms[far] ** 2
    step = max(1, _BLOCK // len(far))
    best = (largest, start, start)
    for first in range(0, len(far), step):
        reporter.check_cancelled()
        block = rows[first : first + step]
        squares = lengths[first : first + step, np.newaxis] + lengths - 2.0 * (block @ rows.T)
        place = np.unravel_index(int(squares.argmax()), squares.shape)
        difference = rows[first + place[0]] - rows[place[1]]
        best = max(best, (float(difference @ difference), first + int(place[0]), int(place[1])))
    return best[0]
