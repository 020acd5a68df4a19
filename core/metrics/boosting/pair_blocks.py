"""BDM's pairs in blocks: every pair once, similar pairs apart from dissimilar ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Similarity
from semblance.core.metrics.boosting.cell_table import distances
from semblance.core.metrics.distance import Matrix

Bits = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
#: (2, n): a number of similar pairs and one of dissimilar pairs for every case.
Both = npt.NDArray[np.float64]

#: Values of a block: more make no product faster, fewer take time for calls.
_BLOCK = 200_000


class PairBlock:
    """The pairs of a few rows with all rows that are not before them.

    Attributes:
        rows, columns: which rows (r) are paired with which (k); ``columns`` begin where ``rows`` do.
        own: of the columns the first so many are similar, the rest dissimilar.
        weights: (r, k) g+ or g- (Eq. 8), 0 where no pair i < j is counted.
        shares: (r, k) -S+ or S- (Eq. 12), once they are made.
    """

    def __init__(self, rows: slice, columns: slice, own: int, weights: Matrix) -> None:
        self.rows = rows
        self.columns = columns
        self.own = own
        self.weights = weights
        self.shares = np.empty_like(weights)
        self._similar = slice(columns.start, columns.start + own)
        self._dissimilar = slice(columns.start + own, columns.stop)

    def scale(self, bits: Rows, factors: Matrix, buffer: Matrix) -> None:
        """Weights times ``factors`` (2, 2, n): of similar and of dissimilar pairs, for a row of each bit."""
        chosen = np.concatenate([factors[0, :, self._similar], factors[1, :, self._dissimilar]], axis=1)
        factor = self._part(buffer)
        np.take(chosen, bits[self.rows], axis=0, out=factor, mode="clip")
        self.weights *= factor

    def share(self, both: Both) -> None:
        """Shares from half the sums ``both`` (2, n) of g+ and of g-."""
        own, rows = self.own, self.rows
        np.add.outer(-both[1, rows], -both[1, self._similar], out=self.shares[:, :own])
        np.add.outer(both[0, rows], both[0, self._dissimilar], out=self.shares[:, own:])
        self.shares *= self.weights

    def below(self, place: npt.NDArray[np.unsignedinteger], buffer: Matrix) -> Matrix:
        """(r, k) the shares of pairs whose column comes before its row in ``place`` (n,)."""
        earlier = np.less(place[self.columns], place[self.rows][:, np.newaxis])
        below: Matrix = np.multiply(self.shares, earlier, out=self._part(buffer))
        return below

    def add_sums(self, values: Matrix, ones: Matrix, by_row: Both, by_column: Both) -> None:
        """Sums of ``values`` (r, k) along both axes, on top of what is there."""
        rows, own = self.rows, self.own
        by_row[0, rows] += values[:, :own] @ ones[:own]
        by_row[1, rows] += values[:, own:] @ ones[: values.shape[1] - own]
        columns = ones[: len(values)] @ values
        by_column[0, self._similar] += columns[:own]
        by_column[1, self._dissimilar] += columns[own:]

    def add_across(self, bits: Bits, both: Both) -> None:
        """Sums of the weights between unequal ``bits`` (n,)."""
        across = self.weights * (bits[self.columns] != bits[self.rows][:, np.newaxis])
        self.add_sums(across, np.ones(max(across.shape)), both, both)

    def _part(self, buffer: Matrix) -> Matrix:
        r, k = self.weights.shape
        return buffer[: r * k].reshape(r, k)


def by_finding(
    similarity: Similarity, cases: Rows, bits: Sequence[tuple[Bits, float]]
) -> Iterator[PairBlock]:
    """The pairs of the ``cases`` (m,), ordered by finding; pairs that are changed count nothing."""
    codes, (patterns, alphas) = similarity.codes[cases], _stacked(bits, cases)
    place = np.full(len(similarity), -1)
    place[cases] = np.arange(len(cases))
    changed = np.sort(place[similarity.changed[:, :2]], axis=1)
    for first in np.flatnonzero(np.diff(codes, prepend=-1)).tolist():
        end = int(np.searchsorted(codes, codes[first], side="right"))
        for rows, columns in _ranges(first, end, len(cases)):
            own = end - rows.start
            weights = distances(patterns[rows], patterns[columns], alphas)
            np.negative(weights[:, own:], out=weights[:, own:])
            weights = np.triu(np.exp(weights, out=weights), 1)
            here = changed[(changed[:, 0] >= rows.start) & (changed[:, 0] < rows.stop)] - rows.start
            weights[here[:, 0], here[:, 1]] = 0.0
            yield PairBlock(rows, columns, own, weights)


def by_pair(similarity: Similarity, bits: Sequence[tuple[Bits, float]]) -> Iterator[PairBlock]:
    """All pairs, in blocks that hold only similar and blocks that hold only dissimilar ones."""
    n = len(similarity)
    signs, (patterns, alphas) = similarity.dense(), _stacked(bits, np.arange(n))
    for rows, columns in _ranges(0, n, n):
        d = distances(patterns[rows], patterns[columns], alphas)
        for own, sign in ((n - rows.start, 1), (0, -1)):
            counted = np.triu(signs[rows, columns] == sign, 1)
            yield PairBlock(rows, columns, own, np.where(counted, np.exp(sign * d), 0.0))


def _stacked(bits: Sequence[tuple[Bits, float]], cases: Rows) -> tuple[Bits, Matrix]:
    """(m, T) the bits of the ``cases``, and their weights (T,)."""
    patterns = np.array([own[cases] for own, _ in bits], dtype=np.bool_).reshape(len(bits), len(cases))
    return np.ascontiguousarray(patterns.T), np.array([weight for _, weight in bits])


def _ranges(first: int, end: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Rows from ``first`` to ``end`` in blocks of about equal size with the columns up to ``n``."""
    while first < end:
        stop = min(end, first + max(16, _BLOCK // (n - first)))
        yield slice(first, stop), slice(first, n)
        first = stop
