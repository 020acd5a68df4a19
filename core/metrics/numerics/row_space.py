"""Rows in coordinates of their own span: what only depends on scalar products of rows is learnt there."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Rows all longer or all shorter than this are brought to a length of 1: their fourth powers still fit.
_PLAIN = (1e-30, 1e30)


class RowSpace:
    """``rows`` (n, w) with the scalar products of X (n, d) but for ``scale`` squared, w = min(n, d).

    With ``plain`` they are X itself.
    """

    def __init__(self, X: Matrix, *, plain: bool = False) -> None:
        self.rows = X
        self.scale = 1.0
        self._basis: Matrix | None = None
        if plain:
            return
        if X.shape[1] > len(X):
            basis, coordinates = np.linalg.qr(X.T)
            self._basis, self.rows = basis, np.ascontiguousarray(coordinates.T)
        largest = float(np.abs(X).max(initial=0.0))
        if largest > 0.0 and not _PLAIN[0] < largest < _PLAIN[1]:
            self.scale = largest
            self.rows = self.rows / largest

    def matrix(self, M: Matrix) -> Matrix:
        """(w, w) symmetric -> (d, d): the form over X that is M over ``rows``."""
        whole = M if self._basis is None else self._basis @ M @ self._basis.T
        return whole / self.scale / self.scale

    def map(self, L: Matrix) -> Matrix:
        """(r, w) -> (r, d): the linear map of X that is L of ``rows``."""
        whole = L if self._basis is None else L @ self._basis.T
        return whole / self.scale

    def map_with_rest(self, S: Matrix) -> Matrix:
        """(w, w) symmetric -> (d, d): S within the span of the rows, nothing changed beside it."""
        if self._basis is None:
            return S / self.scale
        rest = np.eye(len(self._basis)) - self._basis @ self._basis.T
        return (self._basis @ S @ self._basis.T + rest) / self.scale
