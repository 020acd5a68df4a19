"""Sums of the first rows of an array, for any number of rows."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.boosting.anchored_triplets import Floats, Rows
from semblance.core.metrics.distance import Matrix

#: Rows that are added up by one small matrix product: thrice as fast as adding one after another.
_RUN = 16


class RunningSums:
    """The sums of the first so many rows of ``values`` (n, b).

    ``memory`` of the same kind is written to and kept, ``scratch`` only used; both hold :func:`needed`.
    """

    def __init__(self, values: Floats, memory: Floats, scratch: Floats) -> None:
        n = len(values)
        columns = values.shape[1]
        runs, size = n // _RUN + 1, needed(n, columns)
        rows = scratch[:size].reshape(runs, _RUN, columns)
        rows.reshape(-1, columns)[:n] = values
        rows.reshape(-1, columns)[n:] = 0.0
        sums = memory[:size].reshape(runs, _RUN, columns)
        np.matmul(np.tri(_RUN, k=-1, dtype=values.dtype), rows, out=sums)
        before = np.zeros((runs, columns))
        np.cumsum(sums[:-1, -1] + rows[:-1, -1], axis=0, dtype=np.float64, out=before[1:])
        sums += before.astype(values.dtype, copy=False)[:, np.newaxis]
        self._sums: Floats = sums.reshape(-1)
        #: (b,) the sums of all rows.
        self._total: Floats = sums.reshape(-1, columns)[n]

    def beyond(self, below: Rows, above: Rows) -> Matrix:
        """(g, b) the shares of the first ``below`` (g, b) rows and of those after the first ``above``.

        Both are overwritten.
        """
        columns = self._total.shape[0]
        for count in (below, above):
            count *= columns
            count += np.arange(columns)
        shares: Matrix = self._total - self._sums.take(above)
        shares += self._sums.take(below)
        shares /= self._total
        return shares


def needed(n: int, columns: int) -> int:
    """Numbers of memory for the running sums of ``n`` rows."""
    return (n // _RUN + 1) * _RUN * columns
