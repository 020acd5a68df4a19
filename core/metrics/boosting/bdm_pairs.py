"""The weights of BDM's pairs from round to round, pair by pair (Yang et al. 2010, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from semblance.core.constraints import Similarity
from semblance.core.metrics.boosting.changed_pairs import ChangedPairs, summed
from semblance.core.metrics.boosting.pair_blocks import Bits, Both, Rows, by_finding, by_pair
from semblance.core.metrics.distance import Matrix

#: Cases of a finding on average from which blocks of one finding are worth their number.
_MANY_OF_A_FINDING = 12
#: A pair that is changed costs as much as so many in a block, and some more once there is one.
_COST_OF_CHANGED = 40
_FIRST_CHANGED = 400


class Cuts(NamedTuple):
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
    pair is kept once. Pairs in which similarity is not what findings say are counted one by one where they
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
            self._blocks = list(by_finding(similarity, self._cases, bits))
            if len(similarity.changed):
                self._changed = ChangedPairs(similarity, whole=True)
                for own, weight in bits:
                    self._changed.add_bit(own, weight)
        else:
            self._cases = np.arange(n)
            self._blocks = list(by_pair(similarity, bits))
        self._all_X = X
        self._X = np.ascontiguousarray(X[self._cases])
        self._ones = np.ones(n)
        self._buffer = np.empty(max((block.weights.size for block in self._blocks), default=0))
        self.objective = 0.0
        self._grow(None)

    @property
    def similar(self) -> Matrix:
        sums: Matrix = self._sums[0]
        return sums

    @property
    def dissimilar(self) -> Matrix:
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

    def cuts(self, projection: Matrix) -> Cuts:
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
            gain[0] -= 2.0 * summed(later, n, plus)
            gain[1] -= 2.0 * summed(later, n, minus)
        similar, dissimilar = np.maximum(np.cumsum(gain, axis=1)[:, :-1], 0.0)
        return Cuts(order, similar, dissimilar)

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
