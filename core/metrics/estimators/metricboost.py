"""MetricBoost: AdaBoost on rank-one matrices, so that a case is closer to its own finding than to others.

Bi, Wu, Lu, Liu, Tao, Wolf: AdaBoost on Low-Rank PSD Matrices for Metric Learning. IEEE Conference on
Computer Vision and Pattern Recognition, 2011. Equation numbers are theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.boosting.explicit_triplets import ExplicitTriplets
from semblance.core.metrics.boosting.quadratic_triplets import QuadraticTriplets
from semblance.core.metrics.boosting.stump_triplets import StumpTriplets
from semblance.core.metrics.boosting.stumps import Stump
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.distances.signed import SignedDistance
from semblance.core.metrics.distances.stumps import StumpDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.numerics.largest_distance import largest_squared_distance
from semblance.core.metrics.numerics.top_eigenpair import top_eigenpair
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.memory import check_features
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.triplets import TripletSource, triplet_source
from semblance.core.tasks import Reporter

#: An eigenvalue below this share of the largest squared length is rounding.
_NO_EIGENVALUE = 1e-13
#: r of Eq. 5 is kept below 1, where alpha is infinite.
_LARGEST_R = 1.0 - 1e-15
#: The logarithm of the bound falls less than this by rounding.
_LEAST_FALL = 1e-11


class _Weak(NamedTuple):
    """alpha times (direction . z)^2, or where there is a ``threshold`` times [that >= threshold]."""

    direction: Matrix
    alpha: float
    threshold: float = 0.0


class MetricBoost(declarations.MetricBoost, Learner):
    """Each round adds the direction along which other findings lie farthest beyond a case's own.

    Where triplets are given, findings are only counted. The reporter receives a :class:`TrainingPoint` after
    every round; its objective is the bound prod_t Z_t on the training error (Theorem 1). Fitted: ``distance_``,
    ``log_bounds_`` (the logarithm of that bound before the first and after every round), ``stopped_`` (why it
    ended).

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("metricboost", rounds=10, random_state=0).fit(X, y)
        >>> learner.log_bounds_[-1] < learner.log_bounds_[0]
        True
    """

    def _fit(self, data: TrainingInput) -> None:
        if self.readout == "votes" and self.weak != "binary":
            raise BadArguments(
                tr_lazy("Only weak=binary votes, not weak={weak}.", weak=self.weak),
                "Use readout=mahalanobis with it.",
            )
        check_features(min(data.X.shape))
        source = triplet_source(self.title, data.X, data.y, data.triplets)
        # Beyond n columns all projections of the rows are reached from the span of the rows.
        basis, columns = None, source.X
        if columns.shape[1] > len(columns):
            basis, columns = np.linalg.qr(columns.T)
            columns = np.ascontiguousarray(columns.T)
        weights = self._weights(source._replace(X=columns - columns.mean(axis=0)), data.seed)
        found = _Rounds(self, weights, basis, data.reporter).run()
        self.distance_ = found.distance()
        self.log_bounds_: list[float] = found.log_bounds
        self.stopped_: str = found.stopped
        counts = {"triplets": int(weights.count)}
        notes = [found.stopped]
        if isinstance(weights, StumpTriplets | QuadraticTriplets) and self.anchors:
            notes.append(tr_lazy("Learnt from the triplets of {n} of the cases.", n=len(weights.at)))
        self._card: MetricCard = begin_card(
            self,
            data,
            constraints=counts,
            notes=tuple(notes),
            rounds=len(found.log_bounds) - 1,
        )

    def _weights(
        self, source: TripletSource, seed: int
    ) -> StumpTriplets | QuadraticTriplets | ExplicitTriplets:
        if source.triplets is not None:
            return ExplicitTriplets(source.X, source.triplets)
        kind = StumpTriplets if self.weak == "binary" else QuadraticTriplets
        return kind(source.X, source.codes, self.anchors, seed)


@dataclass
class _Rounds:
    """The boosting itself (Algorithm 1)."""

    learner: MetricBoost
    weights: StumpTriplets | QuadraticTriplets | ExplicitTriplets
    basis: Matrix | None
    reporter: Reporter

    def __post_init__(self) -> None:
        self.found: list[_Weak] = []
        self.log_bounds: list[float] = []
        self.stopped = ""
        #: Of the rows' squares, and of their distances' (C squared).
        self._lengths, self._largest = 0.0, 0.0

    def run(self) -> Self:
        """Rounds until enough are done, none helps, or the caller wants it to end."""
        learner, weights, reporter = self.learner, self.weights, self.reporter
        reporter.progress(0, learner.rounds, learner.title)
        self._lengths = float(np.einsum("ij,ij->i", weights.X, weights.X).max())
        if learner.weak == "normalised":
            self._largest = largest_squared_distance(weights.X, reporter)
        weights.refresh(reporter)
        self.log_bounds.append(weights.log_bound)
        while len(self.found) < learner.rounds:
            done = len(self.found)
            if done and reporter.stop_requested:
                self.stopped = tr_lazy("Stopped on request after {done} rounds.", done=done)
                return self
            weak = self._next()
            if weak is None:
                self.stopped = tr_lazy("Stopped after {done} rounds: no further direction helps.", done=done)
                break
            weights.refresh(reporter)
            # Normalised rounds fall by r^2 / 2 as they must, be that less than rounding.
            if learner.weak != "normalised" and weights.log_bound > self.log_bounds[-1] - _LEAST_FALL:
                self.stopped = tr_lazy(
                    "Stopped after {done} rounds: the bound on the error fell no more.", done=done
                )
                break
            self.found.append(weak)
            self.log_bounds.append(weights.log_bound)
            reporter.progress(done + 1, learner.rounds, learner.title)
            reporter.partial(self._point())
        if not self.found:
            raise BadInput(
                "Along no direction do other findings lie farther from a case than its own.",
                "Try other features, or check the findings.",
            )
        self.stopped = self.stopped or tr_lazy("All {n} rounds.", n=len(self.found))
        return self

    def distance(self) -> Distance:
        return _distance(self.found, self.learner.readout)

    def _point(self) -> TrainingPoint:
        found, readout = list(self.found), self.learner.readout
        return TrainingPoint(len(found), math.exp(self.log_bounds[-1]), lambda: _distance(found, readout))

    def _next(self) -> _Weak | None:
        """The weak model of a round, already counted in the weights' scores."""
        learner, weights, reporter = self.learner, self.weights, self.reporter
        value, direction = top_eigenpair(weights.curvature, by_size=learner.allow_similarity)
        sign = 1.0 if value > 0.0 else -1.0
        if not abs(value) > _NO_EIGENVALUE * self._lengths or (sign < 0.0 and not learner.allow_similarity):
            return None
        there = direction if self.basis is None else self.basis @ direction
        if learner.weak == "binary":
            assert isinstance(weights, StumpTriplets | ExplicitTriplets)
            cut: Stump | None = None
            if learner.threshold == "gaussian":
                cut = weights.gaussian_stump(direction, sign, reporter)
            if cut is None:
                cut = weights.best_stump(direction, sign, reporter)
            if cut is None:
                return None
            weights.add_stump(direction, cut.threshold, cut.alpha)
            return _Weak(there, cut.alpha, cut.threshold)
        assert isinstance(weights, QuadraticTriplets | ExplicitTriplets)
        if learner.weak == "real":
            alpha = weights.step(direction, sign, reporter)
        else:
            # Eq. 9: h = (u.z)^2 / C^2 lies in 0 to 1, and r is the eigenvalue over C^2.
            r = sign * min(abs(value) / self._largest, _LARGEST_R)
            alpha = 0.5 * math.log((1.0 + r) / (1.0 - r)) / self._largest
        weights.add_square(direction, alpha)
        return _Weak(there, alpha)


def _distance(found: list[_Weak], readout: str) -> Distance:
    directions = np.stack([weak.direction for weak in found], axis=1)
    alphas = np.array([weak.alpha for weak in found])
    if readout == "votes":
        return StumpDistance(directions, np.array([weak.threshold for weak in found]), alphas)
    d = len(directions)
    if len(alphas) > d:
        alphas, directions = np.linalg.eigh((directions * alphas) @ directions.T)
        nonzero = np.abs(alphas) > 1e-14 * np.abs(alphas).max()
        alphas, directions = alphas[nonzero], directions[:, nonzero]
    L = np.ascontiguousarray((directions * np.sqrt(np.abs(alphas))).T)
    if any(weak.alpha < 0.0 for weak in found):
        return SignedDistance(L, np.sign(alphas))
    return LinearDistance(d, L)
