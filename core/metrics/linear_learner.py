"""What learners share whose result is one linear map."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.rows import TrainingInput, check_features, check_scales

#: Rows all longer or all shorter than this are brought to a length of 1: their fourth powers still fit.
_PLAIN = (1e-30, 1e30)


class RowSpace:
    """``rows`` (n, w) with the scalar products of X (n, d) but for ``scale`` squared, w = min(n, d).

    With ``plain`` they are X itself.
    """

    def __init__(self, X: Matrix, *, plain: bool = False) -> None:
        self.rows = X
        self.scale = 1.0
        self._basis: Matrix | None = None
        if plain:
            return
        if X.shape[1] > len(X):
            basis, coordinates = np.linalg.qr(X.T)
            self._basis, self.rows = basis, np.ascontiguousarray(coordinates.T)
        largest = float(np.abs(X).max(initial=0.0))
        if largest > 0.0 and not _PLAIN[0] < largest < _PLAIN[1]:
            self.scale = largest
            self.rows = self.rows / largest

    def matrix(self, M: Matrix) -> Matrix:
        """(w, w) symmetric -> (d, d): the form over X that is M over ``rows``."""
        whole = M if self._basis is None else self._basis @ M @ self._basis.T
        return whole / self.scale / self.scale

    def map(self, L: Matrix) -> Matrix:
        """(r, w) -> (r, d): the linear map of X that is L of ``rows``."""
        whole = L if self._basis is None else L @ self._basis.T
        return whole / self.scale

    def map_with_rest(self, S: Matrix) -> Matrix:
        """(w, w) symmetric -> (d, d): S within the span of the rows, nothing changed beside it."""
        if self._basis is None:
            return S / self.scale
        rest = np.eye(len(self._basis)) - self._basis @ self._basis.T
        return (self._basis @ S @ self._basis.T + rest) / self.scale


@dataclass(frozen=True, eq=False)
class LearntMap:
    """The map L (m, d), and how it was learnt, for the card."""

    L: Matrix
    notes: tuple[str, ...] = ()
    constraints: Mapping[str, int] = field(default_factory=dict)
    rounds: int | None = None


class LinearLearner(Learner):
    """Learns L of d(x, x') = |L (x - x')|^2. Fitted: ``L_`` (m, d)."""

    def _fit(self, data: TrainingInput) -> None:
        check_features(data.X.shape[1])
        check_scales(data.X)
        self._keep(self._learn(data), data)

    def _keep(self, learnt: LearntMap, data: TrainingInput) -> None:
        """Set what is fitted; of ``data`` all but the features count."""
        if not np.isfinite(learnt.L).all():
            raise BadInput("The features are too large to learn from.", "Add the step 'standardise'.")
        self.L_: Matrix = np.ascontiguousarray(learnt.L)
        self._card: MetricCard = begin_card(
            self, data, constraints=learnt.constraints, notes=learnt.notes, rounds=learnt.rounds
        )

    def metric(self) -> Metric:
        """The linear distance of ``L_``, frozen."""
        return self._as_metric(LinearDistance(self.L_.shape[1], self.L_))

    @abc.abstractmethod
    def _learn(self, data: TrainingInput) -> LearntMap:
        """The map learnt from ``data``.

        Raises:
            BadInput, Cancelled: as :meth:`fit`.
        """


def linear_point(number: int, objective: float, L: Matrix) -> TrainingPoint:
    """A point of the training curve whose distance is that of ``L``."""
    copy = np.ascontiguousarray(L)
    return TrainingPoint(number, objective, lambda: LinearDistance(copy.shape[1], copy))
