"""The weights of BDM's pairs from round to round, in one n x n matrix (Yang et al. 2010, 3.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.constraints import Similarity
from core.metrics.distance import Matrix

Bits = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

#: Values of a block of rows that, with its two halves, stays in a core's second-level cache.
_BLOCK = 40_000


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

    Both live in one signed matrix, positive where similar, negative where dissimilar, and are visited in
    blocks of rows small enough to stay in the cache while all that is needed of them is taken.

    Attributes:
        similar, dissimilar: (n,) row sums g+_i and g-_i (Eq. 13).
        objective: F = sum_i g+_i g-_i (Eq. 5).
        curvature: (d, d) X'(L(S-) - L(S+))X, whose top eigenvector is the next projection (Eq. 18; the
            paper's Fig. 1 prints the opposite sign, which does not descend).
    """

    def __init__(self, similarity: Similarity, X: Matrix) -> None:
        n, d = X.shape
        self._X = np.ascontiguousarray(X)
        self._signed = similarity.astype(np.float64)
        self._rows = min(n, max(16, _BLOCK // n))
        self._plus, self._minus, self._block = np.empty((3, self._rows, n))
        self._product = np.empty((n, d))
        self.similar, self.dissimilar = np.empty((2, n))
        #: Row sums of S+ and S-.
        self._degree_plus, self._degree_minus = np.empty((2, n))
        self.objective = 0.0
        self.curvature = np.empty((d, d))
        self._sweep(None, 0.0)

    def cuts(self, projection: Matrix) -> Cuts:
        """S+ and S- across all n - 1 cuts of the order of ``projection`` (n,), in O(n^2).

        Moving case i below the cut adds its row sum of S and takes away twice its S to those already
        there; S+_ij = (g-_i + g-_j) g+_ij / 2 makes that two sums of g+, and likewise for S-.
        """
        n = len(projection)
        order = np.argsort(projection, kind="stable")
        ones = np.ones(n)
        with_plus = np.stack([ones, self.dissimilar], axis=1)
        with_minus = np.stack([ones, self.similar], axis=1)
        moved_plus, moved_minus = np.zeros((2, n, 2))
        below_plus, below_minus = np.empty((2, n))
        earlier = np.tri(self._rows, k=-1)
        for start in range(0, n, self._rows):
            rows = order[start : start + self._rows]
            size = len(rows)
            block, plus, minus = self._block[:size], self._plus[:size], self._minus[:size]
            np.take(self._signed, rows, axis=0, out=block, mode="clip")
            np.maximum(block, 0.0, out=plus)
            np.minimum(block, 0.0, out=minus)
            among = block[:, rows] * earlier[:size, :size]
            g = plus @ moved_plus + np.maximum(among, 0.0) @ with_plus[rows]
            below_plus[start : start + size] = self.dissimilar[rows] * g[:, 0] + g[:, 1]
            g = minus @ moved_minus + np.minimum(among, 0.0) @ with_minus[rows]
            below_minus[start : start + size] = -(self.similar[rows] * g[:, 0] + g[:, 1])
            moved_plus[rows], moved_minus[rows] = with_plus[rows], with_minus[rows]
        return Cuts(
            order,
            np.maximum(np.cumsum(self._degree_plus[order] - below_plus)[:-1], 0.0),
            np.maximum(np.cumsum(self._degree_minus[order] - below_minus)[:-1], 0.0),
        )

    def across(self, bits: Bits) -> tuple[Matrix, Matrix]:
        """(n,) each: the g+ and the g- mass of every case with those whose bit differs."""
        sides = np.stack([bits, ~bits], axis=1).astype(np.float64)
        mass_plus, mass_minus = np.empty((2, len(bits), 2))
        for start in range(0, len(bits), self._rows):
            part = slice(start, start + self._rows)
            block = self._signed[part]
            plus, minus = self._plus[: len(block)], self._minus[: len(block)]
            mass_plus[part] = np.maximum(block, 0.0, out=plus) @ sides
            mass_minus[part] = np.minimum(block, 0.0, out=minus) @ sides
        other = bits.astype(np.intp)[:, np.newaxis]
        return (
            np.take_along_axis(mass_plus, other, axis=1)[:, 0],
            -np.take_along_axis(mass_minus, other, axis=1)[:, 0],
        )

    def add_bit(self, bits: Bits, weight: float) -> None:
        """d_ij += 4 ``weight`` where the bits (n,) differ; all attributes follow."""
        self._sweep(bits, weight)

    def _sweep(self, bits: Bits | None, weight: float) -> None:
        """One pass: scale by the new bit, then take row sums, row sums of S+-, and their part of X'LX.

        W = S- - S+ is the symmetric part of M_ij = g+_i g-_ij - g-_i g+_ij, so X'WX that of X'MX; the rows
        of M sum to zero, its columns to twice those of W.
        """
        n = len(self._signed)
        own = np.zeros(n, dtype=np.intp) if bits is None else bits.astype(np.intp)
        grow = np.exp(4.0 * weight)
        # Row b: the factors of all columns for a row whose bit is b.
        similar = np.where(own == np.array([[0], [1]]), 1.0, grow)
        dissimilar = 1.0 / similar
        ones = np.ones(self._rows)
        columns_plus, columns_minus = np.zeros((2, n))
        for start in range(0, n, self._rows):
            part = slice(start, start + self._rows)
            block = self._signed[part]
            size = len(block)
            plus, minus, factor = self._plus[:size], self._minus[:size], self._block[:size]
            np.maximum(block, 0.0, out=plus)
            np.minimum(block, 0.0, out=minus)
            if bits is not None:
                plus *= np.take(similar, own[part], axis=0, out=factor, mode="clip")
                minus *= np.take(dissimilar, own[part], axis=0, out=factor, mode="clip")
                np.add(plus, minus, out=block)
            mass_plus, mass_minus = plus.sum(axis=1), -minus.sum(axis=1)
            self.similar[part], self.dissimilar[part] = mass_plus, mass_minus
            plus *= mass_minus[:, np.newaxis]
            minus *= mass_plus[:, np.newaxis]
            columns_plus += ones[:size] @ plus
            columns_minus -= ones[:size] @ minus
            plus += minus
            np.matmul(plus, self._X, out=self._product[part])
        both = self.similar * self.dissimilar
        self.objective = float(both.sum())
        self._degree_plus, self._degree_minus = 0.5 * (both + columns_plus), 0.5 * (both + columns_minus)
        # The product is -MX, so adding the diagonal gives LX, L = L(S-) - L(S+), up to symmetry.
        self._product += (self._degree_minus - self._degree_plus)[:, np.newaxis] * self._X
        half = self._X.T @ self._product
        self.curvature = 0.5 * (half + half.T)
