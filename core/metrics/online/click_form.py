"""The quadratic form that clicks make: the identity, changed along a few directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.metrics.distance import Matrix

#: Changes smaller than this are rounding.
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ClickForm:
    """M = I + W' diag(g) W: ``directions`` W (r, m) with orthonormal rows, ``gains`` g (r,), each >= -1.

    So M is positive semidefinite, and what it does is done in r dimensions instead of m.
    """

    directions: Matrix
    gains: Matrix

    @classmethod
    def start(cls, m: int) -> Self:
        """The identity of ``m`` dimensions: no click has been made."""
        return cls(np.empty((0, m)), np.empty(0))

    @classmethod
    def nearest(cls, change: Matrix, basis: Matrix) -> Self:
        """The positive semidefinite form nearest to I + B'CB.

        ``change`` C (r, r) symmetric, ``basis`` B (r, m) with orthonormal rows. Outside its span the identity
        stays, so the eigenvalues of C below -1 are all there is to lift.
        """
        values, vectors = np.linalg.eigh(change)
        values = np.maximum(values, -1.0)
        kept = np.abs(values) > _TINY
        return cls(np.ascontiguousarray(vectors[:, kept].T @ basis), values[kept])

    @property
    def n_dimensions(self) -> int:
        return int(self.directions.shape[1])

    def blended(self, strength: float) -> ClickForm:
        """(1 - strength) I + strength M, for a strength of 0 to 1."""
        return ClickForm(self.directions, self.gains * strength)

    def stretched(self, more: Matrix) -> ClickForm:
        """M + V'V for more directions V (v, m) of any length."""
        if not len(more):
            return self
        basis = np.linalg.qr(np.concatenate([self.directions, more]).T)[0].T
        old, new = basis @ self.directions.T, basis @ more.T
        return ClickForm.nearest((old * self.gains) @ old.T + new @ new.T, basis)

    def embed(self, Z: Matrix) -> Matrix:
        """(n, m) -> (n, m): Z times the symmetric root of M."""
        stretched = (Z @ self.directions.T) * (np.sqrt(1.0 + self.gains) - 1.0)
        out: Matrix = Z + stretched @ self.directions
        return out

    def squared(self, differences: Matrix) -> Matrix:
        """(n, m) -> (n,): z'Mz, never negative."""
        rooted = self.embed(differences)
        out: Matrix = np.einsum("ij,ij->i", rooted, rooted)
        return out

    def dense(self) -> Matrix:
        """M as (m, m)."""
        M: Matrix = np.eye(self.n_dimensions) + (self.directions.T * self.gains) @ self.directions
        return M


def span_basis(points: Matrix) -> Matrix:
    """(p, m) -> (r, m), r at most p - 1 and m: orthonormal rows spanning all differences of the points."""
    p, m = points.shape
    if p - 1 >= m:
        return np.eye(m)
    if p < 2:
        return np.empty((0, m))
    return np.ascontiguousarray(np.linalg.qr((points[1:] - points[0]).T)[0].T)
