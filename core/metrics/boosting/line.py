"""Cases on a line: how many of them lie below a place."""

from __future__ import annotations

from typing import Literal

import numpy as np

from semblance.core.metrics.boosting.anchored_triplets import Rows
from semblance.core.metrics.distance import Matrix

#: Cells of the line for each case.
_CELLS = 64


class Line:
    """Places ``p`` (n,), ascending and not all equal, with equal cells in which few of them fall.

    The cell of a place rises with it, rounding included, so that a search is needed only in cells that are
    not empty.
    """

    def __init__(self, p: Matrix) -> None:
        self.p = p
        self._cells = _CELLS * len(p)
        self._first = float(p[0])
        self._scale = self._cells / (float(p[-1]) - self._first)
        inside = np.bincount(self._cell(p), minlength=self._cells + 3)
        #: How many lie in the cells before each one.
        self._start = np.concatenate([[0], np.cumsum(inside)])

    def count(self, q: Matrix, *, inclusive: bool) -> Rows:
        """How many lie below each of ``q``, of any shape; ``inclusive``: those at it, too."""
        cell = self._cell(q)
        count: Rows = self._start.take(cell)
        cell += 1
        shared = np.flatnonzero(self._start.take(cell) != count)
        side: Literal["left", "right"] = "right" if inclusive else "left"
        count.reshape(-1)[shared] = np.searchsorted(self.p, q.reshape(-1)[shared], side=side)
        return count

    def _cell(self, q: Matrix) -> Rows:
        """From 0, below all, to the number of cells + 2, above all."""
        place = (q - self._first) * self._scale
        place += 1.0
        np.clip(place, 0.0, self._cells + 2.0, out=place)
        return place.astype(np.int64)
