"""The weights of BDM's pairs from round to round, cell by cell: no n x n array (Yang et al. 2010, 3.4).

d_ij depends on the bits of i and j alone, so cases of equal bits and equal finding are merged into m cells, and a
round costs O(n d^2 + n m + m^2 d + n log n). Pairs whose similarity differs from that of their findings are counted
one by one. They make g+_i and g-_i differ within a cell, so these are stored for every case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Similarity
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.estimators.bdm_pairs import ChangedPairs, DensePairs, OrderedSplits, sum_at

Bits = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

#: Values of a block of rows.
_BLOCK = 1 << 18
#: Rows of X whose weighted copy stays in the cache.
_ROWS = 4096
#: Values of the sums below the cut at the start of every stretch of cases.
_STRETCHES = 1 << 21
#: Values between cases of a stretch that are looked up at a time.
_AMONG = 1 << 16


class FindingBlock(NamedTuple):
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
        self._values: Matrix = np.ones((findings, findings))

    def split(self, parents: Rows, bits: Bits, weight: float) -> None:
        """Cells become parts of themselves, ``parents`` (m,) ascending, and d grows by a new bit (m,)."""
        self._bounds = np.searchsorted(parents, self._bounds)
        self.size = len(parents)
        self._values = self._grown(self._values, parents, bits, weight)

    def blocks(self) -> Iterator[FindingBlock]:
        """All rows, a few at a time."""
        for rows, own in self._ranges():
            yield FindingBlock(rows, own, self._values[rows])

    def among(self, cells: Rows) -> Matrix:
        """exp(d) or exp(-d) between any ``cells`` (s, k) of a row, as (s, k, k)."""
        places = (self.size * cells)[:, :, np.newaxis] + cells[:, np.newaxis]
        chosen: Matrix = self._values.ravel()[places]
        return chosen

    def _ranges(self) -> Iterator[tuple[slice, slice]]:
        step = max(1, _BLOCK // max(1, self.size))
        for first, end in zip(self._bounds[:-1].tolist(), self._bounds[1:].tolist(), strict=True):
            for start in range(first, end, step):
                yield slice(start, min(start + step, end)), slice(first, end)

    def _grown(self, old: Matrix, parents: Rows, bits: Bits, weight: float) -> Matrix:
        values = old if len(old) == self.size else np.empty((self.size, self.size))
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


class CellPairs:
    """The same numbers as :class:`DensePairs`, and the same attributes; ``X`` (n, d).

    ``check`` is called several times a round and may raise to end the work.

    Attributes:
        cells: m, the number of cells.
        changed: p, the number of pairs that are counted one by one.
    """

    def __init__(self, similarity: Similarity, X: Matrix, check: Callable[[], None] = lambda: None) -> None:
        self._similarity = similarity
        self._X = X
        self._check = check
        self._changed = ChangedPairs(similarity)
        #: Cases that have a finding; only they are in cells.
        self._known: Rows = np.flatnonzero(similarity.codes >= 0)
        self._codes = similarity.codes[self._known]
        self._place: Rows = np.cumsum(similarity.codes >= 0) - 1
        findings, cell = np.unique(self._codes, return_inverse=True)
        self._assign(cell)
        self._table = CellTable(len(findings))
        self._bits: list[tuple[Bits, float]] = []
        self._sweep()

    @property
    def cells(self) -> int:
        """m, the number of cells."""
        return self._table.size

    @property
    def changed(self) -> int:
        """p, the number of pairs that are counted one by one."""
        return len(self._changed)

    def add_bit(self, bits: Bits, weight: float) -> None:
        """d_ij += 4 ``weight`` where the bits (n,) differ; all attributes follow."""
        self._bits.append((bits, weight))
        key, occupied = self._split(bits)
        self._assign((np.cumsum(occupied) - 1)[key])
        halves = np.flatnonzero(occupied)
        self._table.split(halves // 2, halves % 2 == 1, weight)
        self._changed.add_bit(bits, weight)
        self._sweep()

    def cells_with(self, bits: Bits) -> int:
        """How many cells there would be after a bit (n,)."""
        return int(self._split(bits)[1].sum())

    def merge_members(self) -> Matrix:
        """(n, d) rows in which all cases of a cell have those of its first one; the pairs are theirs from now on.

        The mean of a cell varies less than cases do, and thresholds that suit means suit cases less.
        """
        rows = self._X.copy()
        rows[self._known] = self._X[self._members[self._starts[:-1]]][self._cell]
        self._X = rows
        self._sweep()
        return rows

    def _split(self, bits: Bits) -> tuple[Rows, npt.NDArray[np.bool_]]:
        """(k,) the half of its cell each case would be in after a bit, and (2 m,) which halves have cases."""
        key: Rows = 2 * self._cell + bits[self._known]
        return key, np.bincount(key, minlength=2 * self.cells) > 0

    def dense(self) -> DensePairs:
        """The same weights pair by pair."""
        return DensePairs(self._similarity, self._X, self._bits)

    def across(self, bits: Bits) -> tuple[Matrix, Matrix]:
        """(n,) each: the g+ and the g- mass of every case with those whose bit differs."""
        own = bits[self._known].astype(np.intp)
        counts = sum_at(2 * self._cell + own, 2 * self.cells).reshape(-1, 2)
        plus, minus = self._products(counts, counts)
        mass_plus, mass_minus = np.zeros((2, len(bits)))
        mass_plus[self._known] = plus[self._cell, 1 - own]
        mass_minus[self._known] = minus[self._cell, 1 - own]
        if len(self._changed):
            cut = bits[self._changed.i] != bits[self._changed.j]
            mass_plus += self._changed.sums(self._changed.similar * cut)
            mass_minus += self._changed.sums(self._changed.dissimilar * cut)
        return np.maximum(mass_plus, 0.0), np.maximum(mass_minus, 0.0)

    def splits(self, projection: Matrix) -> OrderedSplits:
        """S+ and S- across all n - 1 cuts of the order of ``projection`` (n,).

        As in :meth:`DensePairs.splits`, but what lies below the cut is summed by cell at the start of every
        stretch of cases, and case by case within a stretch only.
        """
        order = np.argsort(projection, kind="stable")
        gain_plus, gain_minus = self._degree_plus[order], self._degree_minus[order]
        known = np.flatnonzero(self._similarity.codes[order] >= 0)
        if len(known):
            below_plus, below_minus = self._below(self._place[order[known]])
            gain_plus[known] -= below_plus
            gain_minus[known] -= below_minus
        if len(self._changed):
            place = np.empty(len(order), dtype=np.intp)
            place[order] = np.arange(len(order))
            later = np.maximum(place[self._changed.i], place[self._changed.j])
            plus, minus = self._changed.weights(self.similar, self.dissimilar)
            gain_plus -= 2.0 * sum_at(later, len(order), plus)
            gain_minus -= 2.0 * sum_at(later, len(order), minus)
        return OrderedSplits(
            order, np.maximum(np.cumsum(gain_plus)[:-1], 0.0), np.maximum(np.cumsum(gain_minus)[:-1], 0.0)
        )

    def _below(self, at: Rows) -> tuple[Matrix, Matrix]:
        """(k,) each: twice the S+ and S- of the cases ``at`` with those before them, changed pairs apart.

        ``at`` counts the cases with a finding.
        """
        m, k = self.cells, len(at)
        cell, code = self._cell[at], self._codes[at]
        similar, dissimilar = self.similar[self._known][at], self.dissimilar[self._known][at]
        # A stretch costs m^2 once, by matrix products, and its length squared, by look-ups.
        length = max(64, m // 16, -(-k * m // _STRETCHES))
        count = -(-k // length)
        stretch = np.arange(k) // length
        key = cell * count + stretch
        # Before the start of each stretch: how many cases of a cell, and their sums of g- and of g+.
        cases, lower_minus, lower_plus = (
            _sums_before(sum_at(key, m * count, weights).reshape(m, count))
            for weights in (None, dissimilar, similar)
        )
        plus, minus = self._products(np.hstack([cases, lower_minus]), np.hstack([cases, lower_plus]))
        below_plus = dissimilar * plus[cell, stretch] + plus[cell, count + stretch]
        below_minus = similar * minus[cell, stretch] + minus[cell, count + stretch]
        cells, codes, counted, lower_minus, lower_plus = (
            _in_rows(values, length) for values in (cell, code, np.ones(k), dissimilar, similar)
        )
        lower_minus = np.stack([counted, lower_minus], axis=2)
        lower_plus = np.stack([counted, lower_plus], axis=2)
        sums_plus, sums_minus = np.empty((2, *lower_minus.shape))
        earlier = np.tri(length, k=-1)
        step = max(1, _AMONG // length**2)
        for start in range(0, count, step):
            self._check()
            part = slice(start, start + step)
            among = self._table.among(cells[part])
            among *= earlier
            near = among * (codes[part, :, np.newaxis] == codes[part, np.newaxis])
            among -= near
            np.matmul(near, lower_minus[part], out=sums_plus[part])
            np.matmul(among, lower_plus[part], out=sums_minus[part])
        sums_plus, sums_minus = sums_plus.reshape(-1, 2)[:k], sums_minus.reshape(-1, 2)[:k]
        below_plus += dissimilar * sums_plus[:, 0] + sums_plus[:, 1]
        below_minus += similar * sums_minus[:, 0] + sums_minus[:, 1]
        return below_plus, below_minus

    def _products(self, similar: Matrix, dissimilar: Matrix) -> tuple[Matrix, Matrix]:
        """The table of similar cells times ``similar`` (m, ...), that of dissimilar ones times the other."""
        plus, minus = np.empty_like(similar), np.empty_like(dissimilar)
        for block in self._table.blocks():
            self._check()
            plus[block.rows] = block.similar(similar)
            minus[block.rows] = block.dissimilar(dissimilar)
        return plus, minus

    def _sweep(self) -> None:
        """Row sums, row sums of S+-, and X'LX, from the sums of 1, x, g and gx over the cells."""
        n, changed, cell = len(self._X), self._changed, self._cell
        rows_of_cells = self._sums_by_cell(np.ones(n))
        sums = np.column_stack([np.diff(self._starts), rows_of_cells])
        plus, minus = self._products(sums, sums)
        self.similar, self.dissimilar = np.zeros((2, n))
        # A case is in its own cell, at exp(0) to itself.
        self.similar[self._known] = plus[cell, 0] - 1.0
        self.dissimilar[self._known] = minus[cell, 0]
        if len(changed):
            self.similar += changed.sums(changed.similar)
            self.dissimilar += changed.sums(changed.dissimilar)
            np.maximum(self.similar, 0.0, out=self.similar)
            np.maximum(self.dissimilar, 0.0, out=self.dissimilar)
        both = self.similar * self.dissimilar
        self.objective = float(both.sum())

        itself = np.zeros(n)
        itself[self._known] = self.dissimilar[self._known]
        rows_plus, rows_minus = self._products(
            sum_at(cell, self.cells, self.dissimilar[self._known]),
            sum_at(cell, self.cells, self.similar[self._known]),
        )
        self._degree_plus, self._degree_minus = both - itself, both.copy()
        self._degree_plus[self._known] += rows_plus[cell]
        self._degree_minus[self._known] += rows_minus[cell]
        if len(changed):
            self._degree_plus += changed.sums(changed.similar, self.dissimilar)
            self._degree_minus += changed.sums(changed.dissimilar, self.similar)
        self._degree_plus *= 0.5
        self._degree_minus *= 0.5

        if len(changed):
            lower_minus = self._sums_by_cell(self.dissimilar)
            lower_plus = self._sums_by_cell(self.similar)
        else:
            first = self._members[self._starts[:-1], np.newaxis]
            lower_minus = self.dissimilar[first] * rows_of_cells
            lower_plus = self.similar[first] * rows_of_cells
        between = lower_minus.T @ plus[:, 1:] - lower_plus.T @ minus[:, 1:]
        curvature = 0.5 * (between + between.T)
        curvature += self._weighted_squares(self._degree_minus - self._degree_plus - itself)
        if len(changed):
            changed_plus, changed_minus = changed.weights(self.similar, self.dissimilar)
            curvature += changed.product(changed_plus - changed_minus, self._X)
        self.curvature: Matrix = curvature

    def _assign(self, cell: Rows) -> None:
        """Put the cases into the cells ``cell`` (k,)."""
        self._cell = cell
        # Of 16 bits numbers are sorted by their digits.
        order = np.argsort(cell.astype(np.min_scalar_type(int(cell.max(initial=0)) + 1)), kind="stable")
        #: The cases cell by cell, and where each cell begins among them.
        self._members: Rows = self._known[order]
        self._starts: Rows = np.append(0, np.cumsum(np.bincount(cell)))

    def _sums_by_cell(self, weights: Matrix) -> Matrix:
        """(m, d) sums of ``weights`` (n,) times x."""
        from scipy.sparse import csr_array

        by_cell = (weights[self._members], self._members, self._starts)
        weighted: Any = csr_array(by_cell, shape=(self.cells, len(self._X)))
        sums: Matrix = weighted @ self._X
        return sums

    def _weighted_squares(self, weights: Matrix) -> Matrix:
        """X' diag(``weights``) X."""
        d = self._X.shape[1]
        total = np.zeros((d, d))
        for start in range(0, len(self._X), _ROWS):
            rows = self._X[start : start + _ROWS]
            total += (rows * weights[start : start + _ROWS, np.newaxis]).T @ rows
        return total


def _sums_before(values: Matrix) -> Matrix:
    """Along the second axis, the sum of all entries before each."""
    before = np.zeros(values.shape)
    np.cumsum(values[:, :-1], axis=1, out=before[:, 1:])
    return before


def _in_rows(values: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """(k,) -> rows of ``length``, the last one filled up with 0."""
    rows = np.zeros((-(-len(values) // length), length), dtype=values.dtype)
    rows.ravel()[: len(values)] = values
    return rows
