"""Linear heads: smooth losses of deep metric learning, minimised over one linear map.

A head is what is trained on the features of a frozen encoder. The losses are written for the cosine s of unit vectors,
for which |z - z'|^2 = 2 - 2s. Here s = 1 - d/2 with d the squared distance after the map itself, so the result is a
Mahalanobis metric, with all that goes with one.

Schroff, Kalenichenko, Philbin: FaceNet. CVPR 2015; the soft margin ln(1 + exp(.)) and all valid triplets ("batch
all"): Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification. 2017, section 2.

Kim, Kim, Cho, Kwak: Proxy anchor loss for deep metric learning. CVPR 2020.

Khosla, Teterwak, Wang, Sarna, Tian, Isola, Maschinot, Liu, Krishnan: Supervised contrastive learning. NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import sample_triplets
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, linear_point
from semblance.core.metrics.numerics.minimise import Descent, minimise
from semblance.core.metrics.numerics.pair_weights import gradient_of, median_distance, squared_distances
from semblance.core.metrics.prepared_learner import PreparedLinearLearner
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.rows import LabelledRows, TrainingInput, check_memory, labelled_rows
from semblance.core.metrics.training_data.triplets import triplet_source
from semblance.core.metrics.training_data.validation import chosen_rounds, validation_part

Codes = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

_COMPONENTS = 128
#: Median squared distance at the start: that of unit vectors in directions of their own.
_SPREAD = 2.0

#: Arrays of n x n numbers held at once.
_SQUARES = 5


class Loss(NamedTuple):
    """Value and gradient at parameters (m + r, d), L above; and the r further rows to start from."""

    function: Callable[[Matrix], tuple[float, Matrix]]
    further: Matrix


class LinearHead(PreparedLinearLearner):
    """Minimises a loss by L-BFGS from the principal components, for as many rounds as do best on cases set aside."""

    components: int
    rounds: int
    validation: float

    def _choices(self) -> dict[str, Any]:
        return {"rounds": self._rounds, "validation": 0.0}

    def _minimised(
        self,
        X: Matrix,
        codes: Codes,
        groups: npt.NDArray[np.generic] | None,
        data: TrainingInput,
        loss: Callable[[Rows], Loss],
    ) -> LearntMap:
        """The map learnt from rows (n, d); ``loss(rows)`` is that of these rows after centring and scaling."""
        most = min(*X.shape, self.components or _COMPONENTS)
        directions = PCA(most).fit(X).components_
        start = directions * np.sqrt(_SPREAD / (median_distance(X @ directions.T, data.seed) or 1.0))
        size = len(start)

        def descent(rows: Rows, rounds: int, what: str, **reports: Callable[..., object]) -> Descent:
            found = loss(rows)
            return minimise(
                found.function,
                np.concatenate([start, found.further]),
                rounds=rounds,
                reporter=data.reporter,
                what=what,
                **reports,  # type: ignore[arg-type]
            )

        def on_part(rows: Rows, ended: Callable[[Matrix], bool]) -> None:
            what = tr_lazy("{title}: choosing the number of rounds", title=self.title)
            descent(rows, self.rounds, what, ended=lambda F: ended(F[:size]))

        part = validation_part(X, codes, groups, self.validation, data.seed) if len(codes) else None
        rounds, notes = chosen_rounds(part, self.rounds, on_part)
        self._rounds = rounds
        found = descent(
            np.arange(len(X)),
            rounds,
            self.title,
            point=lambda number, value, F: linear_point(number, value, F[:size]),
        )
        return LearntMap(found.best[:size], (found.note, *notes), rounds=found.rounds)


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
