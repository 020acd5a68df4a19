"""MLKR: the metric in which the nearest cases predict a number best.

Weinberger, Tesauro: Metric learning for kernel regression. AISTATS 2007.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.numerics.minimise import minimise
from semblance.core.metrics.numerics.pair_weights import gradient_of, median_distance, squared_distances
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.rows import (
    TrainingInput,
    check_different,
    check_memory,
    check_one_finding_each,
    labelled_rows,
)

#: Median squared distance at the start.
_SPREAD = 2.0
#: Arrays of n x n numbers held at once.
_SQUARES = 5


class MLKR(declarations.MLKR, LinearLearner):
    """Minimises the squared error of leave-one-out kernel regression (Eq. 3) with the kernel exp(-d).

    Example:
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_diabetes(return_X_y=True)
        >>> X, progression = scale(X), np.log(y)
        >>> learner = make_learner("mlkr", components=3).fit(X, progression)
        >>> learner.transform(X).shape
        (442, 3)
    """

    def _fit(self, data: TrainingInput) -> None:
        super()._fit(data)
        if self._numbers(data.y) is not None:
            # They are no kinds that could be counted.
            self._card = dataclasses.replace(self._card, findings={})

    def _learn(self, data: TrainingInput) -> LearntMap:
        X, targets, note = self._targets(data)
        n = len(X)
        check_memory(
            8.0 * _SQUARES * n * n,
            tr_lazy(
                "{title} compares all of {n:,} training cases with each other, which", title=self.title, n=n
            ),
            tr_lazy("Train on fewer cases."),
        )
        X = X - X.mean(axis=0)
        directions = PCA(min(n, self.components or X.shape[1])).fit(X).components_
        spread = median_distance(X @ directions.T, data.seed) or 1.0
        found = minimise(
            lambda L: regression_loss(L, X, targets),
            directions * np.sqrt(_SPREAD / spread),
            rounds=self.rounds,
            reporter=data.reporter,
            what=self.title,
            point=linear_point,
        )
        return LearntMap(found.best, (note, found.note), rounds=found.rounds)

    def _targets(self, data: TrainingInput) -> tuple[Matrix, Matrix, str]:
        """The rows (n, d) with a target, their targets (n, t) with variances that sum to 1, and a text that describes
        them."""
        numbers = self._numbers(data.y)
        if numbers is None:
            rows = labelled_rows(self.title, data.X, data.y)
            targets = (rows.codes[:, np.newaxis] == np.arange(len(rows.names))).astype(np.float64)
            X, note = rows.X, tr_lazy("Learnt each finding as 0 or 1.")
        else:
            check_one_finding_each(len(data.X), len(numbers))
            check_different(data.X)
            known = np.isfinite(numbers)
            if not known.any() or numbers[known].min() == numbers[known].max():
                raise BadInput(
                    tr_lazy("All training cases {only}.", only=tr_lazy("have the same number")),
                    "Add cases with another number.",
                )
            X, targets, note = (
                data.X[known],
                numbers[known, np.newaxis],
                tr_lazy("Learnt findings as numbers."),
            )
        return X, (targets - targets.mean(axis=0)) / np.sqrt(targets.var(axis=0).sum()), note

    def _numbers(self, y: npt.ArrayLike | None) -> npt.NDArray[np.float64] | None:
        """(n,) findings as numbers, NaN where unknown; ``None`` where they are kinds."""
        if y is None or self.target == "findings":
            return None
        texts = ["nan" if value in (None, "") else str(value) for value in np.asarray(y).tolist()]
        try:
            numbers = np.array([float(text) for text in texts])
        except ValueError:
            if self.target == "numbers":
                raise BadInput("The findings are not all numbers.", "Set target to findings.") from None
            return None
        known = numbers[np.isfinite(numbers)]
        return numbers if self.target == "numbers" or (known % 1.0 != 0.0).any() else None


def regression_loss(L: Matrix, X: Matrix, targets: Matrix) -> tuple[float, Matrix]:
    """Mean |y_i - sum_j p_ij y_j|^2 with p_ij ~ exp(-|L (x_i - x_j)|^2), j not i (Eqs. 2, 3); its gradient in L.

    ``L`` (m, d), ``X`` (n, d), ``targets`` (n, t).
    """
    Z = X @ L.T
    logits = -squared_distances(Z, Z)
    np.fill_diagonal(logits, -np.inf)
    logits -= logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    shares /= shares.sum(axis=1, keepdims=True)
    predicted = shares @ targets
    errors = predicted - targets
    # d predicted / d d_ij = -p_ij (y_j - predicted).
    along = errors @ targets.T - np.einsum("ij,ij->i", errors, predicted)[:, np.newaxis]
    weights = -2.0 / len(X) * shares * along
    return float(np.square(errors).sum()) / len(X), gradient_of(L, X, weights)
