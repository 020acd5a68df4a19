"""A linear head with the triplet loss and a soft margin.

Schroff, Kalenichenko, Philbin: FaceNet. CVPR 2015; the soft margin ln(1 + exp(.)) and all valid triplets ("batch
all"): Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification. 2017, section 2.
"""

from __future__ import annotations

import numpy as np

from semblance.core.constraints import sample_triplets
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_head import Codes, LinearHead, Loss, Rows
from semblance.core.metrics.linear_learner import LearntMap
from semblance.core.metrics.training_data.labelled_rows import labelled_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.triplets import triplet_source


class TripletHead(declarations.TripletHead, LinearHead):
    """Minimises mean ln(1 + exp((d_ij - d_ik) / t)) over triplets drawn from findings, or given.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("triplet_head", components=5).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        source = triplet_source(self.title, data.X, data.y, data.triplets)
        X = source.X - source.X.mean(axis=0)
        if source.triplets is not None:
            given = source.triplets
            return self._minimised(X, np.empty(0, dtype=np.int64), None, data, lambda _: self._of(X, given))
        rows = labelled_rows(self.title, data.X, data.y)
        return self._minimised(
            X, rows.codes, rows.groups(data), data, lambda part: self._loss(X[part], rows.codes[part], data)
        )

    def _loss(self, X: Matrix, codes: Codes, data: TrainingInput) -> Loss:
        return self._of(X, sample_triplets(codes.astype(str), self.draw * len(X), data.seed))

    def _of(self, X: Matrix, triplets: Rows) -> Loss:
        return Loss(lambda L: soft_triplet_loss(L, X, triplets, self.temperature), np.empty((0, X.shape[1])))


def soft_triplet_loss(L: Matrix, X: Matrix, triplets: Rows, temperature: float) -> tuple[float, Matrix]:
    """Mean ln(1 + exp((d_ij - d_ik) / t)) over ``triplets`` (t, 3) of rows of ``X`` (n, d), and its gradient in L."""
    from scipy.sparse import coo_array

    Z = X @ L.T
    i, j, k = triplets.T
    near, far = Z[i] - Z[j], Z[i] - Z[k]
    excess = (np.einsum("ij,ij->i", near, near) - np.einsum("ij,ij->i", far, far)) / temperature
    value = float(np.logaddexp(0.0, excess).mean())
    slopes = np.exp(-np.logaddexp(0.0, -excess)) / (temperature * len(triplets))
    rows, columns = np.concatenate([i, i]), np.concatenate([j, k])
    n = len(X)
    W = coo_array((np.concatenate([slopes, -slopes]), (rows, columns)), shape=(n, n)).tocsr()
    degree = W.sum(axis=0) + W.sum(axis=1)
    half = degree[:, np.newaxis] * X - W @ X - W.T @ X
    return value, 2.0 * L @ (X.T @ half)
