"""A linear head with the proxy-anchor loss.

Kim, Kim, Cho, Kwak: Proxy anchor loss for deep metric learning. CVPR 2020.
"""

from __future__ import annotations

import numpy as np

from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_head import Codes, LinearHead, Loss
from semblance.core.metrics.linear_learner import LearntMap
from semblance.core.metrics.numerics.pair_weights import squared_distances
from semblance.core.metrics.training_data.labelled_rows import LabelledRows, labelled_rows
from semblance.core.metrics.training_data.training_input import TrainingInput


class ProxyAnchor(declarations.ProxyAnchor, LinearHead):
    """Minimises Eq. 4 over the map and one proxy a finding, which starts as the mean of its cases.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("proxy_anchor", components=5).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        X = rows.X - rows.X.mean(axis=0)
        return self._minimised(
            X, rows.codes, rows.groups(data), data, lambda part: self._loss(X[part], rows.codes[part], data)
        )

    def _loss(self, X: Matrix, codes: Codes, data: TrainingInput) -> Loss:
        names, numbers = np.unique(codes, return_inverse=True)
        rows = LabelledRows(X, numbers.astype(np.int64), tuple(map(str, names)))
        return Loss(lambda F: proxy_anchor_loss(F, X, rows.codes, self.scale, self.margin), rows.means())


def proxy_anchor_loss(
    F: Matrix, X: Matrix, codes: Codes, scale: float, margin: float
) -> tuple[float, Matrix]:
    """Eq. 4 with s = 1 - d/2, and its gradient in ``F`` (m + c, d): the map L above c proxies among the rows.

    ``X`` (n, d) with findings ``codes`` (n,) 0 to c - 1, each of which occurs.
    """
    c = int(codes.max()) + 1
    L, proxies = F[:-c], F[-c:]
    similarity = 1.0 - 0.5 * squared_distances(X @ L.T, proxies @ L.T)
    own = codes[:, np.newaxis] == np.arange(c)
    value, slopes = 0.0, np.zeros_like(similarity)
    for sign, among in ((-1.0, own), (1.0, ~own)):
        exponents = np.where(among, sign * scale * similarity + scale * margin, -np.inf)
        top = np.maximum(exponents.max(axis=0), 0.0)
        terms = np.exp(exponents - top)
        sums = np.exp(-top) + terms.sum(axis=0)
        value += float((top + np.log(sums)).sum()) / c
        slopes += sign * scale * terms / sums / c
    # By d, of which the similarity falls by a half.
    weights = -0.5 * slopes
    by_case, by_proxy = weights.sum(axis=1), weights.sum(axis=0)
    cross = X.T @ weights @ proxies
    scatter = X.T @ (by_case[:, np.newaxis] * X) - cross - cross.T
    scatter += proxies.T @ (by_proxy[:, np.newaxis] * proxies)
    of_proxies = 2.0 * (by_proxy[:, np.newaxis] * proxies - weights.T @ X) @ L.T @ L
    return value, np.concatenate([2.0 * L @ scatter, of_proxies])
