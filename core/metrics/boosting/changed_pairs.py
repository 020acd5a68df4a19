"""The pairs in which similarity is not what findings say, one by one (visual neighbours, judged pairs)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Similarity
from semblance.core.metrics.distance import Matrix

Bits = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]

#: Values of differences of rows that are in memory at a time.
_VALUES = 1 << 17


class ChangedPairs:
    """What g+ and g- of these pairs are above what findings make of them: a share may be negative.

    ``similar`` and ``dissimilar`` (p,) are those shares, +-exp(d_ij), +-exp(-d_ij) or 0. ``whole``: all
    of g+ and g-, for one who makes nothing of these pairs from findings.
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
        self._d += np.where(bits[self.i] != bits[self.j], 4.0 * weight, 0.0)
        self.similar, self.dissimilar = self._plus * np.exp(self._d), self._minus * np.exp(-self._d)

    def sums(self, values: Matrix, of: Matrix | None = None) -> Matrix:
        """(n,) sum over the pairs of each case of ``values`` (p,), times ``of`` (n,) the other case."""
        to_i, to_j = (values, values) if of is None else (values * of[self.j], values * of[self.i])
        both = summed(self.i, self._n, to_i)
        both += summed(self.j, self._n, to_j)
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


def summed(places: npt.NDArray[np.integer], size: int, values: Matrix | None = None) -> Matrix:
    """(``size``,) the sum of ``values``, or how many there are, at each of the ``places``."""
    sums: Matrix = np.bincount(places, values, size).astype(np.float64, copy=False)
    return sums
