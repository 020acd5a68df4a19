"""The quadratic form learned from feedback: that of the original metric, changed along a few directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Changes smaller than this are rounding.
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class InitialWeights:
    """The weights of coordinates before any feedback, and with full weight of the plain features.

    ``own`` (m,), not negative: the distance of the original metric is the sum of ``own`` z^2. ``equal_weight``: the
    weight of each if all count equally.
    """

    own: Matrix
    equal_weight: float

    def opened(self, open: float) -> Matrix:
        """(m,) in between, for 0 to 1."""
        out: Matrix = self.own + open * (self.equal_weight - self.own)
        return out


@dataclass(frozen=True, eq=False)
class FeedbackForm:
    """M = S (I + W' diag(g) W) S: ``directions`` W (r, m) with orthonormal rows, ``gains`` g (r,).

    Each gain is at least -1. So M is positive semidefinite, and what it does is done in r dimensions instead
    of m. S is the diagonal of ``initial_weights`` as far as it is ``open``, or without one the identity.
    """

    directions: Matrix
    gains: Matrix
    initial_weights: InitialWeights | None = None
    open: float = 1.0

    @classmethod
    def start(cls, m: int, initial_weights: InitialWeights | None = None) -> Self:
        """The form before any feedback, in ``m`` dimensions."""
        return cls(np.empty((0, m)), np.empty(0), initial_weights, 0.0)

    @classmethod
    def nearest(cls, change: Matrix, basis: Matrix) -> Self:
        """The positive semidefinite form nearest to I + B'CB.

        ``change`` C (r, r) symmetric, ``basis`` B (r, m) with orthonormal rows. Outside its span the identity
        stays, so the eigenvalues of C below -1 are all there is to lift.
        """
        values, vectors = np.linalg.eigh(change)
        values = np.maximum(values, -1.0)
        nonzero = np.abs(values) > _TINY
        return cls(np.ascontiguousarray(vectors[:, nonzero].T @ basis), values[nonzero])

    @property
    def n_dimensions(self) -> int:
        """m, the coordinates of the rows it compares."""
        return int(self.directions.shape[1])

    @property
    def scales(self) -> Matrix:
        """(m,) the diagonal of S."""
        if self.initial_weights is None:
            return np.ones(self.n_dimensions)
        out: Matrix = np.sqrt(self.initial_weights.opened(self.open))
        return out

    def blended(self, strength: float) -> FeedbackForm:
        """The form between the original one (0) and M (1)."""
        return replace(self, gains=self.gains * strength, open=self.open * strength)

    def with_initial_weights(self, initial_weights: InitialWeights | None, open: float) -> FeedbackForm:
        """The same change from other initial weights."""
        return replace(self, initial_weights=initial_weights, open=open)

    def opened(self, open: float) -> FeedbackForm:
        """All coordinates have the same weight at least as far as ``open``."""
        return replace(self, open=max(self.open, open))

    def stretched(self, more: Matrix) -> FeedbackForm:
        """S (I + W' diag(g) W + V'V) S for more directions V (v, m) of any length."""
        if not len(more):
            return self
        basis = np.linalg.qr(np.concatenate([self.directions, more]).T)[0].T
        old, new = basis @ self.directions.T, basis @ more.T
        changed = FeedbackForm.nearest((old * self.gains) @ old.T + new @ new.T, basis)
        return changed.with_initial_weights(self.initial_weights, self.open)

    def embed(self, Z: Matrix) -> Matrix:
        """(n, m) -> (n, m) such that squared distances between rows are those of M."""
        scaled = Z if self.initial_weights is None else Z * self.scales
        stretched = (scaled @ self.directions.T) * (np.sqrt(1.0 + self.gains) - 1.0)
        out: Matrix = scaled + stretched @ self.directions
        return out

    def squared(self, differences: Matrix) -> Matrix:
        """(n, m) -> (n,): z'Mz, never negative."""
        rooted = self.embed(differences)
        out: Matrix = np.einsum("ij,ij->i", rooted, rooted)
        return out

    def dense(self) -> Matrix:
        """M as (m, m)."""
        changed = np.eye(self.n_dimensions) + (self.directions.T * self.gains) @ self.directions
        M: Matrix = self.scales[:, np.newaxis] * changed * self.scales
        return M


def span_basis(points: Matrix) -> Matrix:
    """(p, m) -> (r, m), r at most p - 1 and m: orthonormal rows spanning all differences of the points."""
    p, m = points.shape
    if p - 1 >= m:
        return np.eye(m)
    if p < 2:
        return np.empty((0, m))
    return np.ascontiguousarray(np.linalg.qr((points[1:] - points[0]).T)[0].T)
