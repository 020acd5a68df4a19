"""Explicit triplets, weighted by boosting (Bi et al. 2011, Algorithm 1)."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.boosting.stumps import DISTINCT, Stump, best_stump_of, gaussian_threshold
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.convex_minimum import Slopes, convex_minimum
from semblance.core.metrics.training_data.triplets import Rows
from semblance.core.tasks import Reporter

_LARGEST_EXPONENT = 500.0


class ExplicitTriplets:
    """The weights D of Eq. 2 as logarithms, one a triplet (t, 3) of rows i, j, k of ``X`` (n, d).

    Attributes: as :class:`semblance.core.metrics.boosting.anchored_triplets.AnchoredTriplets`.
    """

    def __init__(self, X: Matrix, triplets: Rows) -> None:
        self.X = X
        self.order: Rows = np.arange(len(X), dtype=np.int64)
        self._i, self._j, self._k = triplets.T
        self.count = float(len(triplets))
        #: sum_t alpha_t (h_ij - h_ik).
        self._logs = np.zeros(len(triplets))
        self.log_bound = 0.0
        self.curvature = np.zeros((X.shape[1],) * 2)

    def refresh(self, reporter: Reporter) -> None:
        """Eq. 8 as X'LX, L the Laplacian of the graph with weight D on ik and -D on ij."""
        from scipy.sparse import coo_array

        reporter.check_cancelled()
        weights = self._weights()
        top = self._logs.max()
        self.log_bound = float(np.log(np.exp(self._logs - top).sum()) + top - np.log(self.count))
        n = len(self.X)
        i = np.concatenate([self._i, self._i])
        other = np.concatenate([self._k, self._j])
        value = np.concatenate([weights, -weights])
        graph = coo_array((value, (i, other)), shape=(n, n)).tocsr()
        degrees = np.bincount(i, value, n) + np.bincount(other, value, n)
        half = self.X.T @ (graph @ self.X)
        self.curvature = self.X.T @ (degrees[:, np.newaxis] * self.X) - half - half.T

    def add_square(self, direction: Matrix, alpha: float) -> None:
        """The weak model (``direction`` . z)^2; the weights follow with the next refresh."""
        near, far = self._squares(direction)
        self._logs += alpha * (near - far)

    def add_stump(self, direction: Matrix, threshold: float, alpha: float) -> None:
        """The weak model [(``direction`` . z)^2 >= ``threshold``]."""
        near, far = self._squares(direction)
        self._logs += alpha * ((near >= threshold).astype(np.float64) - (far >= threshold))

    def step(self, direction: Matrix, sign: float, reporter: Reporter) -> float:
        """alpha of this sign with the least Z (option 1)."""
        near, far = self._squares(direction)
        change = sign * (near - far)
        largest = float(np.abs(change).max())

        def slopes(alpha: float) -> Slopes:
            reporter.check_cancelled()
            logs = self._logs + alpha * change
            share = np.exp(logs - logs.max())
            share /= share.sum()
            mean = float(share @ change)
            off = change - mean
            return mean, float(share @ off**2), float(share @ off**3)

        return sign * convex_minimum(slopes, 1.0 / largest, _LARGEST_EXPONENT / largest).place

    def best_stump(self, direction: Matrix, sign: float, reporter: Reporter) -> Stump | None:
        """The cut with the least Z, its alpha of this sign; ``None`` where no cut has Z < 1.

        A triplet counts at thresholds between its two squares, as gain where ij is the smaller.
        """
        reporter.check_cancelled()
        near, far = self._squares(direction)
        values = np.unique(np.concatenate([near, far]))
        roots, reach = np.sqrt(values), float(np.ptp(self.X @ direction))
        cuts = np.flatnonzero(np.diff(roots) > DISTINCT * reach)
        thresholds = 0.5 * (values[cuts] + values[cuts + 1])
        low, high = np.searchsorted(thresholds, np.stack([np.minimum(near, far), np.maximum(near, far)]))
        weights = self._weights()
        size = len(thresholds) + 1
        errors = []
        for kind in (near < far, near > far):
            change = np.bincount(low[kind], weights[kind], size) - np.bincount(
                high[kind], weights[kind], size
            )
            errors.append(np.cumsum(change)[:-1])
        right, wrong = errors if sign > 0.0 else errors[::-1]
        return best_stump_of(thresholds, right, wrong, sign, self.count)

    def gaussian_stump(self, direction: Matrix, sign: float, reporter: Reporter) -> Stump | None:
        """The cut between two Gaussians, of the pairs named closer and of those named farther."""
        reporter.check_cancelled()
        moments = []
        for other in (self._j, self._k):
            pairs = np.unique(np.stack([np.minimum(self._i, other), np.maximum(self._i, other)]), axis=1)
            q = ((self.X[pairs[0]] - self.X[pairs[1]]) @ direction) ** 2
            moments.append(np.array([len(q), q.sum(), (q * q).sum()]))
        threshold = gaussian_threshold(*moments)
        near, far = self._squares(direction)
        weights = self._weights()
        right = weights[(near < threshold) & (far >= threshold)].sum(keepdims=True)
        wrong = weights[(near >= threshold) & (far < threshold)].sum(keepdims=True)
        gain, loss = (right, wrong) if sign > 0.0 else (wrong, right)
        return best_stump_of(np.array([threshold]), gain, loss, sign, self.count)

    def _weights(self) -> Matrix:
        weights: Matrix = np.exp(self._logs - self._logs.max())
        weights /= weights.sum()
        return weights

    def _squares(self, direction: Matrix) -> tuple[Matrix, Matrix]:
        """(t,) each: the squared projections of ij and of ik."""
        p = self.X @ direction
        return (p[self._i] - p[self._j]) ** 2, (p[self._i] - p[self._k]) ** 2
