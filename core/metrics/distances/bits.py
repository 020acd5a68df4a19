"""Weighted Hamming distance of learned bits (Yang et al. 2010, Eq. 2)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix, Part
from semblance.core.metrics.distances.projection_thresholds import ThresholdDistance

_BLOCK = 1 << 16


class BitDistance(ThresholdDistance):
    """d(x, x') = sum_t alpha_t (f_t(x) - f_t(x'))^2, f_t(x) = +1 if u_t . x > b_t, else -1.

    ``directions`` (d, T) holds the u_t as columns, ``thresholds`` (T,) the b_t, ``weights`` (T,) the
    alpha_t > 0. A bit that differs adds 4 alpha_t. Cases with equal bits tie at zero.
    """

    kind: ClassVar[str] = "bits"
    positive: ClassVar[str] = "weights"

    def bits(self, X: Matrix) -> npt.NDArray[np.bool_]:
        """(n, d) -> (n, T)."""
        return np.greater(X @ self.directions, self.thresholds)

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, T): +-sqrt(alpha_t), by the bit."""
        scale = np.sqrt(self.weights)
        return np.where(self.bits(X), scale, -scale)

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): the sum of 4 alpha over the bits that differ; equal bits give exactly 0."""
        from_q, from_x = self.bits(Q), self.bits(X)
        amounts = 4.0 * self.weights
        out = np.empty((len(from_q), len(from_x)))
        rows = max(1, _BLOCK // max(1, len(amounts)))
        for start in range(0, len(from_x), rows):
            block = from_x[start : start + rows]
            for row, q in enumerate(from_q):
                # A sum per row, not a matrix product: equal rows must give equal distances to the last bit.
                out[row, start : start + rows] = np.where(block != q, amounts, 0.0).sum(axis=1)
        return out

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[Part]:
        """One part a bit, numbered from 1: 4 alpha where the two differ, else 0."""
        differ = (self.bits(q[np.newaxis]) != self.bits(x[np.newaxis]))[0]
        amounts = np.where(differ, 4.0 * self.weights, 0.0)
        return [
            Part(tr_lazy("bit {number}", number=number), float(amount))
            for number, amount in enumerate(amounts, 1)
        ]
