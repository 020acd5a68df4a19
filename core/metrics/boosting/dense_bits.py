"""The weights of BDM's pairs from round to round, in one n x n matrix (Yang et al. 2010, 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.constraints import Signs
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

    def __init__(self, signs: Signs, X: Matrix, bits: Sequence[tuple[Bits, float]] = ()) -> None:
        """``signs`` (n, n), ``X`` (n, d), ``bits`` those already learnt, (n,) with their weights."""
        n, d = X.shape
        self._X = np.ascontiguousarray(X)
        self._signed = _signed(signs, bits)
        self._rows = min(n, max(16, _BLOCK // n))
        self._plus, self._minus, self._block = np.empty((3, self._rows, n))
        self._product = np.empty((n, d))
        self.similar, self.dissimilar = np.empty((2, n))
        #: Row sums of S+ and S-.
        self._degree_plus, self._degree_minus = np.empty((2, n))
        self.objective = 0.0
        self.curvature = np.empty((d, d))
        self._sweep(np.zeros(n, dtype=np.bool_), 0.0)

    def cuts(self, projection: Matrix) -> Cuts:
        """S+ and S- across all n - 1 cuts of the order of ``projection`` (n,), in O(n^2).

        Moving case i below the cut adds its row sum of S and takes away twice its S to those already
        there; S+_ij = (g-_i + g-_j) g+_ij / 2 makes that two sums of g+, and likewise for S-.
        """
        n = len(projection)
        order = np.argsort(projection, kind="stable")
        below_plus, below_minus = np.empty((2, n))
        # What each case weighs once it is moved; the halves are doubled.
        moved, moved_similar, moved_dissimilar = np.zeros((3, n))
        earlier = np.tri(self._rows, k=-1)
        for start in range(0, n, self._rows):
            rows = order[start : start + self._rows]
            size = len(rows)
            block = np.take(self._signed, rows, axis=0, out=self._block[:size], mode="clip")
            plus, minus = self._halves(block)
            similar, dissimilar = 0.5 * self.similar[rows], 0.5 * self.dissimilar[rows]
            among = block[:, rows] * earlier[:size, :size]
            among_plus, among_minus = np.maximum(among, 0.0), -np.minimum(among, 0.0)
            below_plus[start : start + size] = (
                self.dissimilar[rows] * (plus @ moved + among_plus.sum(axis=1))
                + plus @ moved_dissimilar
                + among_plus @ self.dissimilar[rows]
            )
            below_minus[start : start + size] = (
                self.similar[rows] * (minus @ moved + among_minus.sum(axis=1))
                + minus @ moved_similar
                + among_minus @ self.similar[rows]
            )
            moved[rows], moved_similar[rows], moved_dissimilar[rows] = 0.5, similar, dissimilar
        return Cuts(
            order,
            np.maximum(np.cumsum(self._degree_plus[order] - below_plus)[:-1], 0.0),
            np.maximum(np.cumsum(self._degree_minus[order] - below_minus)[:-1], 0.0),
        )

    def across(self, bits: Bits) -> tuple[Matrix, Matrix]:
        """(n,) each: the g+ and the g- mass of every case with those whose bit differs."""
        ones, zeros = np.where(bits, 0.5, 0.0), np.where(bits, 0.0, 0.5)
        mass_plus, mass_minus = np.empty((2, len(bits)))
        for start in range(0, len(bits), self._rows):
            part = slice(start, start + self._rows)
            plus, minus = self._halves(self._signed[part])
            mass_plus[part] = np.where(bits[part], plus @ zeros, plus @ ones)
            mass_minus[part] = np.where(bits[part], minus @ zeros, minus @ ones)
        return mass_plus, mass_minus

    def add_bit(self, bits: Bits, weight: float) -> None:
        """d_ij += 4 ``weight`` where the bits (n,) differ; all attributes follow."""
        self._sweep(bits, weight)

    def _halves(self, block: Matrix) -> tuple[Matrix, Matrix]:
        """Twice the similar and twice the dissimilar part of some rows, exact, in two buffers.

        |x| + x and |x| - x are three times as fast as a maximum and a minimum.
        """
        plus, minus = self._plus[: len(block)], self._minus[: len(block)]
        np.abs(block, out=minus)
        np.add(minus, block, out=plus)
        np.subtract(minus, block, out=minus)
        return plus, minus

    def _sweep(self, bits: Bits, weight: float) -> None:
        """One pass: scale by the new bit, then take row sums, row sums of S+-, and their part of X'LX.

        W = S- - S+ is the symmetric part of M_ij = g+_i g-_ij - g-_i g+_ij, so X'WX that of X'MX; the rows
        of M sum to zero, its columns to twice those of W.
        """
        n = len(self._signed)
        own = bits.astype(np.intp)
        # Row b: half the factors of all columns for a row whose bit is b.
        equal = own == np.array([[0], [1]])
        similar = np.where(equal, 0.5, 0.5 * np.exp(4.0 * weight))
        dissimilar = np.where(equal, 0.5, 0.5 * np.exp(-4.0 * weight))
        ones = np.ones(n)
        columns_plus, columns_minus = np.zeros((2, n))
        for start in range(0, n, self._rows):
            part = slice(start, start + self._rows)
            block = self._signed[part]
            plus, minus = self._halves(block)
            factor = self._block[: len(block)]
            plus *= np.take(similar, own[part], axis=0, out=factor, mode="clip")
            minus *= np.take(dissimilar, own[part], axis=0, out=factor, mode="clip")
            np.subtract(plus, minus, out=block)
            mass_plus, mass_minus = plus @ ones, minus @ ones
            self.similar[part], self.dissimilar[part] = mass_plus, mass_minus
            columns_plus += mass_minus @ plus
            columns_minus += mass_plus @ minus
            # -M is g+_i times this; a row without similar cases has g+_ij = 0 throughout.
            ratio = np.divide(mass_minus, mass_plus, out=np.zeros(len(block)), where=mass_plus > 0.0)
            plus *= ratio[:, np.newaxis]
            plus -= minus
            np.matmul(plus, self._X, out=self._product[part])
        both = self.similar * self.dissimilar
        self.objective = float(both.sum())
        self._degree_plus, self._degree_minus = 0.5 * (both + columns_plus), 0.5 * (both + columns_minus)
        # The product becomes -MX, and with the diagonal LX, L = L(S-) - L(S+), up to symmetry.
        self._product *= self.similar[:, np.newaxis]
        self._product += (self._degree_minus - self._degree_plus)[:, np.newaxis] * self._X
        half = self._X.T @ self._product
        self.curvature = 0.5 * (half + half.T)


def _signed(signs: Signs, bits: Sequence[tuple[Bits, float]]) -> Matrix:
    """y_ij exp(y_ij d_ij) of the ``bits``."""
    signed = signs.astype(np.float64)
    if bits:
        weights = np.array([4.0 * weight for _, weight in bits])
        ones = np.array([own for own, _ in bits], dtype=np.float64)
        # d_ij = sum of w (f_i + f_j - 2 f_i f_j), f of 0 and 1.
        total = weights @ ones
        d = (-2.0 * weights[:, np.newaxis] * ones).T @ ones
        d += total[:, np.newaxis]
        d += total
        signed *= np.exp(np.multiply(signed, np.maximum(d, 0.0, out=d), out=d), out=d)
    return signed
