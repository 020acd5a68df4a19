"""A linear head with the triplet loss and a soft margin.

Schroff, Kalenichenko, Philbin: FaceNet. CVPR 2015; the soft margin ln(1 + exp(.)) and all valid triplets ("batch
all"): Hermans, Beyer, Leibe: In defense of the triplet loss for person re-identification. 2017, section 2.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.core.constraints import sample_triplets
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_head import HEAD_PARAMETERS, Codes, LinearHead, Loss, Rows
from semblance.core.metrics.linear_learner import LearntMap
from semblance.core.metrics.training_data.labelled_rows import labelled_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.triplets import triplet_source
from semblance.core.parameters import Parameter


class TripletHead(LinearHead):
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

    name: ClassVar[str] = "triplet_head"
    title: ClassVar[str] = "Triplet head"
    paper: ClassVar[str] = "Schroff et al. 2015, FaceNet; Hermans et al. 2017, In defense of the triplet loss"
    summary: ClassVar[str] = "A linear layer on the features of an encoder; from findings or from triplets."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "draw",
            20,
            "Triplets drawn from findings for each case.",
            label="Triplets drawn",
            minimum=1,
            maximum=1000,
        ),
        Parameter(
            "temperature",
            0.2,
            "Difference of squared distances within which a triplet still counts.",
            minimum=1e-3,
            maximum=100.0,
        ),
        *HEAD_PARAMETERS,
    )
    accepts: ClassVar[frozenset[str]] = frozenset({"findings", "triplets"})

    def __init__(
        self,
        draw: int = 20,
        temperature: float = 0.2,
        components: int = 0,
        rounds: int = 50,
        validation: float = 0.2,
        random_state: int | None = None,
    ) -> None:
        self.draw = draw
        self.temperature = temperature
        self.components = components
        self.rounds = rounds
        self.validation = validation
        self.random_state = random_state

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
