"""What learners share whose result is one linear map."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.memory import check_features
from semblance.core.metrics.training_data.rows import training_rows
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True, eq=False)
class TrainingInput:
    """What there is to learn from; see :meth:`semblance.core.metrics.learner.Learner.fit`."""

    X: Matrix
    y: npt.ArrayLike | None
    pairs: npt.NDArray[np.int64] | None
    groups: npt.ArrayLike | None
    reporter: Reporter
    seed: int


@dataclass(frozen=True, eq=False)
class LearntMap:
    """The map L (m, d), and what the card tells of how it came about."""

    L: Matrix
    notes: tuple[str, ...] = ()
    constraints: Mapping[str, int] = field(default_factory=dict)
    rounds: int | None = None


class LinearLearner(Learner):
    """Learns L of d(x, x') = |L (x - x')|^2. Fitted: ``L_`` (m, d)."""

    random_state: int | None

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        pairs: npt.NDArray[np.int64] | None = None,
        triplets: npt.NDArray[np.int64] | None = None,
        groups: npt.ArrayLike | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """See :meth:`Learner.fit`.

        Raises:
            BadInput, BadArguments, Cancelled: as there; also rows of too many features for a matrix of them.
        """
        from threadpoolctl import threadpool_limits

        self._check_parameters()
        rows = training_rows(X, groups)
        check_features(rows.shape[1])
        given = TrainingInput(rows, y, pairs, groups, reporter or SILENT, self.random_state or 0)
        # More threads slow small eigenproblems a hundredfold on a busy machine.
        with threadpool_limits(limits=1, user_api="blas"):
            learnt = self._learn(given)
        if not np.isfinite(learnt.L).all():
            raise BadInput("The features are too large to learn from.", "Add the step 'standardise'.")
        self.L_: Matrix = np.ascontiguousarray(learnt.L)
        self._card: MetricCard = begin_card(
            self,
            len(rows),
            y=y,
            groups=groups,
            constraints=learnt.constraints,
            notes=learnt.notes,
            rounds=learnt.rounds,
        )
        return self

    def metric(self) -> Metric:
        """The linear distance of ``L_``, frozen."""
        return Metric((), LinearDistance(self.L_.shape[1], self.L_), self._card)

    @abc.abstractmethod
    def _learn(self, given: TrainingInput) -> LearntMap:
        """See :meth:`fit`; parameters are checked, rows are finite."""


def linear_point(number: int, objective: float, L: Matrix) -> TrainingPoint:
    """A point of the training curve whose distance is that of ``L``."""
    kept = np.ascontiguousarray(L)
    return TrainingPoint(number, objective, lambda: LinearDistance(kept.shape[1], kept))
