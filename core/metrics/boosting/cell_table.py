"""exp(+-d) between cells: cases of one finding and equal bits, for which all distances are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Bits = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

#: Cells up to which the table is kept, 0.8 GB, twice that while it grows; beyond, rows are made when needed.
STORED_CELLS = 10_000
#: Values of a block of rows.
_BLOCK = 1 << 18


class Block(NamedTuple):
    """Rows of the table, all of one finding: ``values`` (r, m), whose columns ``own`` are of that finding."""

    rows: slice
    own: slice
    values: Matrix

    def similar(self, columns: Matrix) -> Matrix:
        """exp(d) times ``columns`` (m, ...) over the cells of the same finding."""
        product: Matrix = self.values[:, self.own] @ columns[self.own]
        return product

    def dissimilar(self, columns: Matrix) -> Matrix:
        """exp(-d) times ``columns`` (m, ...) over the cells of other findings."""
        before, after = slice(0, self.own.start), slice(self.own.stop, None)
        product: Matrix = self.values[:, before] @ columns[before]
        product += self.values[:, after] @ columns[after]
        return product


class CellTable:
    """(m, m) exp(d) between cells of one finding, exp(-d) between cells of two; cells go by finding.

    Attributes:
        size: m.
    """

    def __init__(self, findings: int) -> None:
        self.size = findings
        #: Finding c has the cells bounds[c] to bounds[c + 1].
        self._bounds: Rows = np.arange(findings + 1)
        self._values: Matrix | None = np.ones((findings, findings))
        self._bits: Bits = np.empty((findings, 0), dtype=np.bool_)
        self._weights: Matrix = np.empty(0)

    def split(self, parents: Rows, bits: Bits, weight: float) -> None:
        """Cells become parts of themselves, ``parents`` (m,) ascending, and d grows by a new bit (m,)."""
        self._bits = np.column_stack([self._bits[parents], bits])
        self._weights = np.append(self._weights, weight)
        self._bounds = np.searchsorted(parents, self._bounds)
        self.size = len(parents)
        self._values = None if self._values is None else self._grown(self._values, parents, bits, weight)

    def blocks(self) -> Iterator[Block]:
        """All rows, a few at a time."""
        for rows, own in self._ranges():
            values = self._made(rows, own) if self._values is None else self._values[rows]
            yield Block(rows, own, values)

    def among(self, cells: Rows) -> Matrix:
        """exp(d) or exp(-d) between any ``cells`` (s, k) of a row, as (s, k, k)."""
        if self._values is not None:
            places = (self.size * cells)[:, :, np.newaxis] + cells[:, np.newaxis]
            chosen: Matrix = self._values.ravel()[places]
            return chosen
        return np.stack([self._made_among(row) for row in cells])

    def _made_among(self, cells: Rows) -> Matrix:
        finding = np.searchsorted(self._bounds, cells, side="right")
        d = distances(self._bits[cells], self._bits[cells], self._weights)
        return np.exp(np.where(finding[:, np.newaxis] == finding, d, -d))

    def _ranges(self) -> Iterator[tuple[slice, slice]]:
        step = max(1, _BLOCK // max(1, self.size))
        for first, end in zip(self._bounds[:-1].tolist(), self._bounds[1:].tolist(), strict=True):
            for start in range(first, end, step):
                yield slice(start, min(start + step, end)), slice(first, end)

    def _grown(self, old: Matrix, parents: Rows, bits: Bits, weight: float) -> Matrix | None:
        if self.size > STORED_CELLS:
            return None
        values = old if len(old) == self.size else None
        if values is None:
            values = np.empty((self.size, self.size))
        # Row b: the factors of all columns for a row whose bit is b.
        differ = bits != np.array([[False], [True]])
        nearer, farther = np.where(differ, np.exp([[-4.0 * weight], [4.0 * weight]])[:, np.newaxis], 1.0)
        for rows, own in self._ranges():
            block = values[rows]
            if values is not old:
                np.take(old[parents[rows]], parents, axis=1, out=block, mode="clip")
            factors = nearer.copy()
            factors[:, own] = farther[:, own]
            block *= factors[bits[rows].astype(np.intp)]
        return values

    def _made(self, rows: slice, own: slice) -> Matrix:
        values = distances(self._bits[rows], self._bits, self._weights)
        np.negative(values[:, : own.start], out=values[:, : own.start])
        np.negative(values[:, own.stop :], out=values[:, own.stop :])
        np.exp(values, out=values)
        return values


def distances(first: Bits, second: Bits, weights: Matrix) -> Matrix:
    """(a, T), (b, T) -> (a, b): 4 alpha for every bit that differs."""
    weighed = 4.0 * weights * first
    d: Matrix = (-2.0 * weighed) @ second.T.astype(np.float64)
    d += weighed.sum(axis=1)[:, np.newaxis]
    d += second @ (4.0 * weights)
    return np.maximum(d, 0.0, out=d)
