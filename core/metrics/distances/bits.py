"""Weighted Hamming distances on the bits of projections and of kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, DistancePart, Matrix

_NAMES = ("directions", "thresholds", "weights")

_BLOCK = 1 << 16

KERNELS = ("rbf", "laplacian", "polynomial")
MAX_DEGREE = 10
_KERNEL_BLOCK = 1 << 22


class ThresholdDistance(Distance):
    """``directions`` (d, T) holds the projections as columns; ``thresholds`` and ``weights`` are (T,).

    Few values are possible, so many cases tie.
    """

    ties = True
    #: Which of its arrays must be positive throughout.
    positive: ClassVar[str]

    def __init__(self, directions: Matrix, thresholds: Matrix, weights: Matrix) -> None:
        self.directions = directions
        self.thresholds = thresholds
        self.weights = weights

    @property
    def n_features(self) -> int:
        """d, the rows of ``directions``."""
        return int(self.directions.shape[0])

    def settings(self) -> dict[str, Any]:
        """None are needed."""
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Directions, thresholds and weights."""
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`.

        Raises:
            BadInput: an array that is missing, of another type, does not fit the others, or is not positive as it
                must be.
        """
        what = tr_lazy("A distance of {kind}", kind=cls.kind)
        if settings or set(arrays) != set(_NAMES):
            raise BadInput(tr_lazy("{what} needs directions, thresholds and weights.", what=what))
        directions, thresholds, weights = (arrays[name] for name in _NAMES)
        if any(array.dtype != np.float64 for array in arrays.values()) or directions.ndim != 2:
            raise BadInput(tr_lazy("{what} has arrays of the wrong form.", what=what))
        if thresholds.shape != weights.shape or thresholds.shape != directions.shape[1:]:
            raise BadInput(tr_lazy("{what} has arrays that do not fit together.", what=what))
        if directions.shape[0] < 1 or not (arrays[cls.positive] > 0).all():
            raise BadInput(
                tr_lazy("{what} has {positive} that are not all positive.", what=what, positive=cls.positive)
            )
        return cls(directions, thresholds, weights)


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

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """One part a bit, numbered from 1: 4 alpha where the two differ, else 0."""
        differ = (self.bits(q[np.newaxis]) != self.bits(x[np.newaxis]))[0]
        amounts = np.where(differ, 4.0 * self.weights, 0.0)
        return [
            DistancePart(tr_lazy("bit {number}", number=number), float(amount))
            for number, amount in enumerate(amounts, 1)
        ]


@dataclass(frozen=True)
class Kernel:
    """rbf exp(-gamma |x - x'|^2), laplacian exp(-gamma |x - x'|_1), polynomial (gamma x.x' + 1)^degree."""

    name: str
    gamma: float
    degree: int = 1

    def values(self, X: Matrix, rows: Matrix) -> Matrix:
        """(n, d), (r, d) -> (n, r), n x r values in memory."""
        values = np.empty((len(X), len(rows)))
        step = max(1, _KERNEL_BLOCK // max(1, len(rows)))
        for start in range(0, len(X), step):
            values[start : start + step] = self._block(X[start : start + step], rows)
        return values

    def _block(self, X: Matrix, rows: Matrix) -> Matrix:
        if self.name == "polynomial":
            product: Matrix = (self.gamma * (X @ rows.T) + 1.0) ** self.degree
            return product
        distances = lengths(self.name, X, rows)
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def settings(self) -> dict[str, Any]:
        """JSON values that make the same kernel again."""
        return {"kernel": self.name, "gamma": self.gamma, "degree": self.degree}

    @classmethod
    def restore(cls, settings: dict[str, Any]) -> Self:
        """The inverse of :meth:`settings`.

        Raises:
            BadInput: no such kernel.
        """
        name, gamma, degree = (settings.get(key) for key in ("kernel", "gamma", "degree"))
        if name not in KERNELS or not isinstance(gamma, float) or not 0.0 < gamma < np.inf:
            raise BadInput("A kernel distance without a kernel and its width.")
        if type(degree) is not int or not 1 <= degree <= MAX_DEGREE:
            raise BadInput(
                tr_lazy("The degree of a kernel is not one of 1 to {max_degree}.", max_degree=MAX_DEGREE)
            )
        return cls(name, gamma, degree)


def lengths(kernel: str, X: Matrix, rows: Matrix) -> Matrix:
    """(n, r) what a kernel takes the exponential of: |x - x'|_1 for laplacian, else |x - x'|^2.

    By direct difference, so that equal rows have equal values wherever they stand.
    """
    from scipy.spatial.distance import cdist

    found: Matrix = cdist(X, rows, "cityblock" if kernel == "laplacian" else "sqeuclidean")
    return found


class KernelBitDistance(Distance):
    """The distance ``bits`` of (k(x, z_1), ..., k(x, z_r)), z the stored training ``rows`` (r, d)."""

    kind: ClassVar[str] = "kernel_bits"
    ties = True

    def __init__(self, kernel: Kernel, rows: Matrix, bits: BitDistance) -> None:
        self.kernel = kernel
        self.rows = rows
        self.bits = bits

    @property
    def n_features(self) -> int:
        """d, the columns of the stored rows."""
        return int(self.rows.shape[1])

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, T): the embedding of the bits of the kernel values."""
        return self.bits.embed(self.kernel.values(X, self.rows))

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): the distance of the bits of the kernel values."""
        return self.bits.between(self.kernel.values(Q, self.rows), self.kernel.values(X, self.rows))

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """One part a bit, numbered from 1."""
        from_q, from_x = self.kernel.values(np.stack([q, x]), self.rows)
        return self.bits.parts(from_q, from_x, names)

    def settings(self) -> dict[str, Any]:
        """Those of the kernel."""
        return self.kernel.settings()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The stored rows, and the arrays of the bits."""
        return {"rows": self.rows, **self.bits.arrays()}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: no kernel, no rows, or bits that do not fit the rows.
        """
        kernel = Kernel.restore(settings)
        bits = BitDistance.restore({}, {name: array for name, array in arrays.items() if name != "rows"})
        rows = arrays.get("rows")
        if rows is None or rows.ndim != 2 or rows.dtype != np.float64 or rows.shape[1] == 0:
            raise BadInput("A kernel distance without the rows it compares with.")
        if len(rows) != bits.n_features:
            raise BadInput("The arrays of a kernel distance do not fit together.")
        return cls(kernel, rows, bits)
