"""A linear head with the supervised contrastive loss.

Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu, Krishnan: Supervised contrastive learning. NeurIPS 2020.
"""

from __future__ import annotations

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_head import Codes, LinearHead, Loss
from semblance.core.metrics.linear_learner import LearntMap
from semblance.core.metrics.numerics.pair_weights import gradient_of, squared_distances
from semblance.core.metrics.training_data.labelled_rows import labelled_rows
from semblance.core.metrics.training_data.memory import check_memory
from semblance.core.metrics.training_data.training_input import TrainingInput

#: Arrays of n x n numbers held at once.
_SQUARES = 5


class SupCon(declarations.SupCon, LinearHead):
    """Minimises L_out (their Eq. 2) over all training cases at once.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("supcon", components=5).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        n = len(rows.X)
        check_memory(
            8.0 * _SQUARES * n * n,
            tr_lazy(
                "{title} compares all of {n:,} training cases with each other, which", title=self.title, n=n
            ),
            tr_lazy("Train on fewer cases, or use ccml."),
        )
        X = rows.X - rows.X.mean(axis=0)
        return self._minimised(
            X, rows.codes, rows.groups(data), data, lambda part: self._loss(X[part], rows.codes[part], data)
        )

    def _loss(self, X: Matrix, codes: Codes, data: TrainingInput) -> Loss:
        return Loss(lambda L: contrastive_loss(L, X, codes, self.temperature), np.empty((0, X.shape[1])))


def contrastive_loss(L: Matrix, X: Matrix, codes: Codes, temperature: float) -> tuple[float, Matrix]:
    """Mean over anchors i of -mean over others p of their finding of log softmax_p(s_ip / t), and the gradient in L.

    s = 1 - d/2; anchors alone in their finding are left out. ``L`` (m, d), ``X`` (n, d), ``codes`` (n,).
    """
    Z = X @ L.T
    logits = squared_distances(Z, Z) * (-0.5 / temperature)
    np.fill_diagonal(logits, -np.inf)
    top = logits.max(axis=1, keepdims=True)
    shares = np.exp(logits - top)
    sums = shares.sum(axis=1, keepdims=True)
    shares /= sums
    positive = codes[:, np.newaxis] == codes
    np.fill_diagonal(positive, False)
    counts = positive.sum(axis=1)
    anchors = counts > 0
    targets = positive / np.maximum(counts, 1)[:, np.newaxis]
    log_shares = np.where(positive, logits - top - np.log(sums), 0.0)
    value = -float((targets * log_shares)[anchors].sum()) / int(anchors.sum())
    weights = (targets - shares) * (anchors / (2.0 * temperature * int(anchors.sum())))[:, np.newaxis]
    return value, gradient_of(L, X, weights)
