"""Kernels: the similarity of two rows as an inner product in an implicit space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix

KERNELS = ("rbf", "laplacian", "polynomial")
MAX_DEGREE = 10
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Kernel:
    """rbf exp(-gamma |x - x'|^2), laplacian exp(-gamma |x - x'|_1), polynomial (gamma x.x' + 1)^degree."""

    name: str
    gamma: float
    degree: int = 1

    def values(self, X: Matrix, rows: Matrix) -> Matrix:
        """(n, d), (r, d) -> (n, r), n x r values in memory."""
        values = np.empty((len(X), len(rows)))
        step = max(1, _BLOCK // max(1, len(rows)))
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
