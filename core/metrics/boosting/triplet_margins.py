"""How much farther than its target the impostor of each triplet lies, along one direction or under a matrix.

Shen et al. 2012: A_r = (x_i - x_k)(x_i - x_k)' - (x_i - x_j)(x_i - x_j)' (Eq. 6), never formed.
"""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.triplets import Rows


class TripletMargins:
    """Triplets (t, 3) of rows i, j, k of ``X`` (n, d), as edges ij and ik of a graph of the rows."""

    def __init__(self, X: Matrix, triplets: Rows) -> None:
        self.X = X
        n = len(X)
        i, j, k = triplets.T
        edges, place = np.unique(np.concatenate([i * n + j, i * n + k]), return_inverse=True)
        self._i, self._j = np.divmod(edges, n)
        self._near, self._far = place[: len(triplets)], place[len(triplets) :]
        self._starts = np.searchsorted(self._i, np.arange(n + 1))
        self.n_triplets, self.n_edges = len(triplets), len(edges)

    def squares(self, direction: Matrix) -> Matrix:
        """(e,) (v . (x - x'))^2 of every edge."""
        p = self.X @ direction
        difference: Matrix = p.take(self._i) - p.take(self._j)
        difference *= difference
        return difference

    def of(self, squares: Matrix) -> Matrix:
        """(t,) <A_r, Z>, from what Z gives each edge (e,): H_r of Eq. 8 for :meth:`squares`."""
        margins: Matrix = squares.take(self._far) - squares.take(self._near)
        return margins

    def on_edges(self, u: Matrix) -> Matrix:
        """(e,) the adjoint of :meth:`of`: what weights ``u`` (t,) put on each edge."""
        e = len(self._i)
        return np.asarray(np.bincount(self._far, u, e) - np.bincount(self._near, u, e))

    def curvature(self, u: Matrix) -> Matrix:
        """(d, d) sum_r u_r A_r (Eq. 23), as X'LX with L the sparse Laplacian of the weighted edges."""
        from scipy.sparse import csr_array

        n = len(self.X)
        on = self.on_edges(u)
        graph = csr_array((on, self._j, self._starts), shape=(n, n))
        degrees = np.bincount(self._i, on, n) + np.bincount(self._j, on, n)
        half = self.X.T @ (graph @ self.X)
        return np.asarray(self.X.T @ (degrees[:, np.newaxis] * self.X) - half - half.T)
