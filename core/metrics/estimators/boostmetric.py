"""BoostMetric: a Mahalanobis metric as a sum of rank-one matrices, found one by one as boosting finds them.

Shen, Kim, Wang, van den Hengel: Positive Semidefinite Metric Learning Using Boosting-like Algorithms. Journal
of Machine Learning Research 13, 2012. Equation numbers are theirs.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.boosting.margin_boosting import (
    Rounds,
    TripletMargins,
    hinge,
    stagewise,
    totally_corrective,
)
from semblance.core.metrics.boosting.margin_losses import LOSSES
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.numerics.psd import psd_root
from semblance.core.metrics.numerics.row_space import RowSpace
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.memory import check_features, check_memory
from semblance.core.metrics.training_data.nearest_triplets import nearest_triplets
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.triplets import Rows, triplet_source
from semblance.core.tasks import Reporter

#: Triplets the linear program of the hinge loss is tried with.
MOST_HINGE_TRIPLETS = 50_000
#: Bytes a triplet takes: its rows, its edges, their order, its margin and weight.
_PER_TRIPLET = 200


class BoostMetric(declarations.BoostMetric, Learner):
    """Each round adds the direction along which impostors, those still too near most, lie farthest off.

    Where triplets are given, findings are only counted. The reporter receives a :class:`TrainingPoint` after every
    round, numbered through all passes; its objective is that of Eq. 11 (exponential) or 25 (logistic), or minus that
    of Eq. 9 (hinge), which starts again with the triplets of every pass. Fitted: ``distance_``, ``objectives_`` (a
    list a pass), ``stopped_`` (why the last pass ended). If no direction helps in the first round, it warns, and the
    metric is the Euclidean distance.

    Example:
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> anchor, near, far = np.random.default_rng(0).integers(0, 178, (3, 900))
        >>> known = (y[anchor] == y[near]) & (y[anchor] != y[far]) & (anchor != near)
        >>> triplets = np.stack([X[anchor], X[near], X[far]], axis=1)[known]
        >>> learner = make_learner("boostmetric", random_state=0).fit(triplets)
        >>> learner.score(triplets) > 0.9
        True
    """

    def _fit(self, data: TrainingInput) -> None:
        source = triplet_source(self.title, data.X, data.y, data.triplets)
        check_features(min(source.X.shape))
        triplets = source.triplets
        self._check_memory(len(source.X) * self.neighbours**2 if triplets is None else len(triplets))
        found = _Passes(self, RowSpace(source.X), source.codes, triplets, data.reporter).run()
        self.distance_ = found.distance()
        self.objectives_: list[list[float]] = found.objectives
        self.stopped_: str = found.stopped
        self._card: MetricCard = begin_card(
            self,
            data,
            constraints={"triplets": found.n_triplets},
            notes=(found.stopped,),
            rounds=found.round,
        )

    def _check_memory(self, triplets: int) -> None:
        # Weighing all directions again takes the margins along each.
        stored_rounds = self.rounds if self.corrective == "total" or self.loss == "hinge" else 0
        check_memory(
            (_PER_TRIPLET + 8.0 * stored_rounds) * triplets,
            tr_lazy("{triplets:,} triplets", triplets=triplets),
            tr_lazy("Ask for fewer neighbours or rounds, use corrective=stagewise, or train on fewer cases."),
        )


class _Passes:
    """The passes over ever better neighbours (3.7), each a boosting of its own."""

    def __init__(
        self,
        learner: BoostMetric,
        space: RowSpace,
        codes: npt.NDArray[np.int64],
        triplets: Rows | None,
        reporter: Reporter,
    ) -> None:
        self._learner, self._space, self._codes, self._triplets = learner, space, codes, triplets
        self._reporter = reporter
        self._rows = space.rows - space.rows.mean(axis=0)
        # At a spread of 1 per feature the regularisation does not depend on the scale of the features.
        unit = 1.0 / float(np.sqrt(np.square(self._rows).mean()))
        self._map = np.eye(self._rows.shape[1]) * unit
        self.objectives: list[list[float]] = []
        self.stopped = ""
        self.round = 0
        self.n_triplets = 0

    def run(self) -> Self:
        learner, reporter = self._learner, self._reporter
        total = learner.passes * learner.rounds
        reporter.progress(0, total, learner.title)
        for number in range(learner.passes):
            if self.round and reporter.stop_requested:
                break
            M = self._boost()
            if M is None:
                break
            self._map = self._after(M, self._map)
            reporter.progress((number + 1) * learner.rounds, total, learner.title)
        if not self.round:
            # As a later pass that finds nothing, it leaves the map as it was.
            self.stopped = tr_lazy(
                "Nothing was learnt: along no direction do other findings lie farther from a case than its own. "
                "This is the Euclidean distance."
            )
            warnings.warn(f"{learner.title}: {self.stopped}", stacklevel=2)
        elif learner.passes > 1:
            self.stopped = tr_lazy("{n} passes. {stopped}", n=len(self.objectives), stopped=self.stopped)
        return self

    def distance(self) -> LinearDistance:
        return self._distance(self._map)

    def _boost(self) -> Matrix | None:
        """One pass; the matrix learnt over the map so far, ``None`` if no direction helps."""
        learner, reporter = self._learner, self._reporter
        here = self._rows @ self._map.T
        triplets = self._triplets
        if triplets is None:
            triplets = nearest_triplets(here, self._codes, learner.neighbours, reporter)
        self.n_triplets = len(triplets)
        rounds = self._rounds(TripletMargins(here, triplets))
        objectives: list[float] = []
        M: Matrix | None = None
        while len(objectives) < learner.rounds:
            reporter.check_cancelled()
            if M is not None and reporter.stop_requested:
                self.stopped = tr_lazy("Stopped on request after {n} rounds.", n=len(objectives))
                break
            try:
                objective, M = next(rounds)
            except StopIteration as end:
                self.stopped = tr_lazy(
                    "Stopped after {n} rounds: {value}.", n=len(objectives), value=end.value
                )
                break
            if not objectives:
                self.objectives.append(objectives)
            objectives.append(objective)
            self.round += 1
            done = (len(self.objectives) - 1) * learner.rounds + len(objectives)
            reporter.progress(done, learner.passes * learner.rounds, learner.title)
            reporter.partial(self._point(M, objective))
        else:
            self.stopped = tr_lazy("All {n} rounds.", n=len(objectives))
        return M

    def _rounds(self, margins: TripletMargins) -> Rounds:
        learner = self._learner
        if learner.loss == "hinge":
            if margins.n_triplets > MOST_HINGE_TRIPLETS:
                raise BadInput(
                    tr_lazy(
                        "{n_triplets} triplets are too many for the linear program of the hinge loss.",
                        n_triplets=margins.n_triplets,
                    ),
                    tr_lazy(
                        "Use loss=logistic, or fewer cases or neighbours (up to {most_hinge_triplets}).",
                        most_hinge_triplets=MOST_HINGE_TRIPLETS,
                    ),
                )
            return hinge(margins, learner.slack)
        loss = LOSSES[learner.loss](margins.n_triplets)
        form = stagewise if learner.corrective == "stagewise" else totally_corrective
        return form(margins, loss, learner.regularisation)

    def _point(self, M: Matrix, objective: float) -> TrainingPoint:
        before = self._map
        return TrainingPoint(self.round, objective, lambda: self._distance(self._after(M, before)))

    @staticmethod
    def _after(M: Matrix, before: Matrix) -> Matrix:
        """The root of M, brought to a mean eigenvalue of 1, on top of the map ``before``."""
        L: Matrix = psd_root(M * (len(M) / np.trace(M))) @ before
        return L

    def _distance(self, L: Matrix) -> LinearDistance:
        L = np.ascontiguousarray(self._space.map(L))
        return LinearDistance(L.shape[1], L)
