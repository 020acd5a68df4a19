"""The weights of BDM's pairs from round to round, pair by pair (Yang et al. 2010, 3.4).

Every pair is stored once, in blocks of similar and of dissimilar pairs. :class:`ChangedPairs` are the pairs in which
similarity does not follow the findings (visual neighbours, judged pairs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Similarity
from semblance.core.metrics.distance import Matrix

Bits = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
#: (2, n): a number of similar pairs and one of dissimilar pairs for every case.
Both = npt.NDArray[np.float64]

#: Values of differences of rows that are in memory at a time.
_VALUES = 1 << 17
#: Values of a block: larger blocks are not faster, smaller ones need more calls.
_BLOCK = 200_000
#: Mean number of cases of a finding from which blocks of one finding are faster.
_MANY_OF_A_FINDING = 12
#: The cost of a changed pair in pairs of a block, and the additional cost of the first one.
_COST_OF_CHANGED = 40
_FIRST_CHANGED = 400


class ChangedPairs:
    """The differences of g+ and g- of these pairs from those by findings; they may be negative.

    ``similar`` and ``dissimilar`` (p,) are those shares, +-exp(d_ij), +-exp(-d_ij) or 0. ``whole``: the full g+ and
    g-, for callers that leave these pairs out of those by findings.
    """

    def __init__(self, similarity: Similarity, *, whole: bool = False) -> None:
        self.i, self.j, now = similarity.changed.T
        before = np.zeros(len(now)) if whole else similarity.by_findings(self.i, self.j)
        self._n = len(similarity)
        self._plus = (now == 1).astype(np.float64) - (before == 1)
        self._minus = (now == -1).astype(np.float64) - (before == -1)
        self._d = np.zeros(len(now))
        self.similar, self.dissimilar = self._plus, self._minus

    def __len__(self) -> int:
        return len(self._d)

    def add_bit(self, bits: Bits, weight: float) -> None:
        """d_ij += 4 ``weight`` where the bits (n,) differ."""
        self._d += np.where(bits[self.i] != bits[self.j], 4.0 * weight, 0.0)
        self.similar, self.dissimilar = self._plus * np.exp(self._d), self._minus * np.exp(-self._d)

    def sums(self, values: Matrix, of: Matrix | None = None) -> Matrix:
        """(n,) sum over the pairs of each case of ``values`` (p,), times ``of`` (n,) the other case."""
        to_i, to_j = (values, values) if of is None else (values * of[self.j], values * of[self.i])
        both = sum_at(self.i, self._n, to_i)
        both += sum_at(self.j, self._n, to_j)
        return both

    def weights(self, similar: Matrix, dissimilar: Matrix) -> tuple[Matrix, Matrix]:
        """(p,) S+ and S- of the pairs (Eq. 12) from the row sums g+_i and g-_i (n,)."""
        return (
            0.5 * self.similar * (dissimilar[self.i] + dissimilar[self.j]),
            0.5 * self.dissimilar * (similar[self.i] + similar[self.j]),
        )

    def product(self, weights: Matrix, X: Matrix) -> Matrix:
        """(d, d) X'WX of the symmetric W (n, n) with ``weights`` (p,) at the pairs."""
        from scipy.sparse import csr_array

        half = X.T @ (csr_array((weights, (self.i, self.j)), shape=(self._n, self._n)) @ X)
        whole: Matrix = half + half.T
        return whole

    def laplacian(self, weights: Matrix, X: Matrix) -> Matrix:
        """(d, d) X'L(W)X of the same W: the sum of its weights times (x_i - x_j)(x_i - x_j)'."""
        p, d = len(weights), X.shape[1]
        total = np.zeros((d, d))
        step = max(1, _VALUES // d)
        for start in range(0, p, step):
            part = slice(start, start + step)
            apart = X[self.i[part]] - X[self.j[part]]
            total += (apart * weights[part, np.newaxis]).T @ apart
        return total


def sum_at(places: npt.NDArray[np.integer], size: int, values: Matrix | None = None) -> Matrix:
    """(``size``,) the sum of ``values``, or how many there are, at each of the ``places``."""
    sums: Matrix = np.bincount(places, values, size).astype(np.float64, copy=False)
    return sums


class PairBlock:
    """The pairs of a few rows with all rows that are not before them.

    Attributes:
        rows, columns: the rows (r) and columns (k) of the pairs; ``columns`` begin where ``rows`` do. own: of the
        columns the first so many are similar, the rest dissimilar. weights: (r, k) g+ or g- (Eq. 8), 0 where no pair
        i < j is counted. shares: (r, k) -S+ or S- (Eq. 12), once they are computed.
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


def blocks_by_finding(
    similarity: Similarity, cases: Rows, bits: Sequence[tuple[Bits, float]]
) -> Iterator[PairBlock]:
    """The pairs of the ``cases`` (m,), ordered by finding, without changed pairs."""
    codes, (patterns, alphas) = similarity.codes[cases], _stacked(bits, cases)
    place = np.full(len(similarity), -1)
    place[cases] = np.arange(len(cases))
    changed = np.sort(place[similarity.changed[:, :2]], axis=1)
    for first in np.flatnonzero(np.diff(codes, prepend=-1)).tolist():
        end = int(np.searchsorted(codes, codes[first], side="right"))
        for rows, columns in _ranges(first, end, len(cases)):
            own = end - rows.start
            weights = bit_distances(patterns[rows], patterns[columns], alphas)
            np.negative(weights[:, own:], out=weights[:, own:])
            weights = np.triu(np.exp(weights, out=weights), 1)
            here = changed[(changed[:, 0] >= rows.start) & (changed[:, 0] < rows.stop)] - rows.start
            weights[here[:, 0], here[:, 1]] = 0.0
            yield PairBlock(rows, columns, own, weights)


def blocks_by_sign(similarity: Similarity, bits: Sequence[tuple[Bits, float]]) -> Iterator[PairBlock]:
    """All pairs, in blocks that hold only similar and blocks that hold only dissimilar ones."""
    n = len(similarity)
    signs, (patterns, alphas) = similarity.dense(), _stacked(bits, np.arange(n))
    for rows, columns in _ranges(0, n, n):
        d = bit_distances(patterns[rows], patterns[columns], alphas)
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


def bit_distances(first: Bits, second: Bits, weights: Matrix) -> Matrix:
    """(a, T), (b, T) -> (a, b): 4 alpha for every bit that differs."""
    weighed = 4.0 * weights * first
    d: Matrix = (-2.0 * weighed) @ second.T.astype(np.float64)
    d += weighed.sum(axis=1)[:, np.newaxis]
    d += second @ (4.0 * weights)
    return np.maximum(d, 0.0, out=d)


class OrderedSplits(NamedTuple):
    """All ways to cut the cases, ordered by a projection, into a lower and an upper part.

    ``order`` (n,) rows ascending by projection; ``similar`` and ``dissimilar`` (n - 1,) the sums of S+ and
    of S- (Eq. 12) over unordered pairs across the cut behind each. f'L(S)f is 4 times that (f = +-1).
    """

    order: Rows
    similar: Matrix
    dissimilar: Matrix


class DensePairs:
    """g+_ij = exp(d_ij) of similar and g-_ij = exp(-d_ij) of dissimilar pairs (Eq. 8) while d grows by bits.

    Cases are put in order of their findings, so that the similar pairs of a block stand together, and every
    pair is stored once. Pairs in which similarity does not follow the findings are counted one by one where they
    are few; else similar and dissimilar pairs have blocks of their own.

    Attributes:
        similar, dissimilar: (n,) row sums g+_i and g-_i (Eq. 13).
        objective: F = sum_i g+_i g-_i (Eq. 5).
        curvature: (d, d) X'(L(S-) - L(S+))X, whose top eigenvector is the next projection (Eq. 18; the
            paper's Fig. 1 prints the opposite sign, which does not descend).
    """

    def __init__(self, similarity: Similarity, X: Matrix, bits: Sequence[tuple[Bits, float]] = ()) -> None:
        """``X`` (n, d), ``bits`` those already learnt, (n,) with their weights."""
        n = len(X)
        self._changed: ChangedPairs | None = None
        if _suits_findings(similarity):
            known = np.flatnonzero(similarity.codes >= 0)
            self._cases: Rows = known[np.argsort(similarity.codes[known], kind="stable")]
            self._blocks = list(blocks_by_finding(similarity, self._cases, bits))
            if len(similarity.changed):
                self._changed = ChangedPairs(similarity, whole=True)
                for own, weight in bits:
                    self._changed.add_bit(own, weight)
        else:
            self._cases = np.arange(n)
            self._blocks = list(blocks_by_sign(similarity, bits))
        self._all_X = X
        self._X = np.ascontiguousarray(X[self._cases])
        self._ones = np.ones(n)
        self._buffer = np.empty(max((block.weights.size for block in self._blocks), default=0))
        self.objective = 0.0
        self._grow(None)

    @property
    def similar(self) -> Matrix:
        """(n,) row sums g+_i (Eq. 13)."""
        sums: Matrix = self._sums[0]
        return sums

    @property
    def dissimilar(self) -> Matrix:
        """(n,) row sums g-_i (Eq. 13)."""
        sums: Matrix = self._sums[1]
        return sums

    def add_bit(self, bits: Bits, weight: float) -> None:
        """d_ij += 4 ``weight`` where the bits (n,) differ; all attributes follow."""
        own = bits[self._cases].astype(np.intp)
        equal = own == np.array([[0], [1]])
        factors = np.where(equal, 1.0, np.exp([[[4.0 * weight]], [[-4.0 * weight]]]))
        if self._changed is not None:
            self._changed.add_bit(bits, weight)
        self._grow((own, factors))

    def across(self, bits: Bits) -> tuple[Matrix, Matrix]:
        """(n,) each: the g+ and the g- mass of every case with those whose bit differs."""
        masses = np.zeros((2, len(self._cases)))
        for block in self._blocks:
            block.add_across(bits[self._cases], masses)
        plus, minus = self._of_all(masses)
        if self._changed is not None:
            cut = bits[self._changed.i] != bits[self._changed.j]
            plus += self._changed.sums(self._changed.similar * cut)
            minus += self._changed.sums(self._changed.dissimilar * cut)
        return plus, minus

    def splits(self, projection: Matrix) -> OrderedSplits:
        """S+ and S- across all n - 1 cuts of the order of ``projection`` (n,), in O(n^2).

        Moving case i below the cut adds its row sum of S and takes away twice its S to those already there.
        """
        n = len(projection)
        order = np.argsort(projection, kind="stable")
        place = np.empty(n, dtype=np.min_scalar_type(n))
        place[order] = np.arange(n)
        here = place[self._cases]
        rows, columns = np.zeros((2, 2, len(here)))
        for block in self._blocks:
            block.add_sums(block.below(here, self._buffer), self._ones, rows, columns)
        below = self._of_all(rows + (self._share_columns - columns))
        below[0] *= -1.0
        gain = (self._degrees - 2.0 * below)[:, order]
        if self._changed is not None:
            later = np.maximum(place[self._changed.i], place[self._changed.j])
            plus, minus = self._changed_shares
            gain[0] -= 2.0 * sum_at(later, n, plus)
            gain[1] -= 2.0 * sum_at(later, n, minus)
        similar, dissimilar = np.maximum(np.cumsum(gain, axis=1)[:, :-1], 0.0)
        return OrderedSplits(order, similar, dissimilar)

    def _of_all(self, both: Both) -> Both:
        """(2, n) of all cases from (2, m) of those in the blocks."""
        spread = np.zeros((2, len(self._all_X)))
        spread[:, self._cases] = both
        return spread

    def _grow(self, factors: tuple[Rows, Matrix] | None) -> None:
        """Scales the weights, then takes their row sums, their shares, the row sums of these, and X'LX.

        ``factors``: as in :meth:`PairBlock.scale`.
        """
        m, d = self._X.shape
        changed = self._changed
        sums = np.zeros((2, m))
        for block in self._blocks:
            if factors is not None:
                block.scale(*factors, self._buffer)
            block.add_sums(block.weights, self._ones, sums, sums)
        self._sums: Both = self._of_all(sums)
        if changed is not None:
            self._sums[0] += changed.sums(changed.similar)
            self._sums[1] += changed.sums(changed.dissimilar)
        self.objective = float(self._sums[0] @ self._sums[1])

        halves = 0.5 * self._sums[:, self._cases]
        rows, self._share_columns = np.zeros((2, 2, m))
        product = np.zeros((m, d))
        for block in self._blocks:
            block.share(halves)
            block.add_sums(block.shares, self._ones, rows, self._share_columns)
            product[block.rows] += block.shares @ self._X[block.columns]
        degrees = rows + self._share_columns
        # Shares are those of S- - S+, of which L(S-) - L(S+) has the negative off its diagonal; each pair
        # is in one half of the product, so what is symmetric in it counts twice.
        product -= (0.5 * degrees.sum(axis=0))[:, np.newaxis] * self._X
        half = self._X.T @ product
        self.curvature: Matrix = -(half + half.T)
        degrees[0] *= -1.0
        self._degrees = self._of_all(degrees)
        if changed is not None:
            self._changed_shares = plus, minus = changed.weights(*self._sums)
            self._degrees[0] += changed.sums(plus)
            self._degrees[1] += changed.sums(minus)
            self.curvature += changed.laplacian(minus - plus, self._all_X)


def _suits_findings(similarity: Similarity) -> bool:
    """Blocks by finding take less time than blocks of similar and blocks of dissimilar pairs."""
    n, findings = len(similarity), len(np.unique(similarity.codes))
    changed = len(similarity.changed)
    cost = _COST_OF_CHANGED * (changed + _FIRST_CHANGED) if changed else 0
    return cost <= n * n and _MANY_OF_A_FINDING * findings <= n
