"""The learners that learn nothing: Euclidean and L1 distance of the features as they are."""

from __future__ import annotations

import abc
from typing import ClassVar

from semblance.core.metrics import declarations
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance
from semblance.core.metrics.distances.city_block import CityBlockDistance
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.training import begin_card
from semblance.core.metrics.training_data.rows import TrainingInput


class FixedDistance(Learner):
    """What both share. Fitting checks the rows and counts them for the card. Fitted: ``distance_``."""

    def _fit(self, data: TrainingInput) -> None:
        self.distance_ = self._distance(data.X.shape[1])
        self._card: MetricCard = begin_card(self, data)

    @abc.abstractmethod
    def _distance(self, n_features: int) -> Distance:
        """The distance between rows of so many features."""


class Euclidean(declarations.Euclidean, FixedDistance):
    """Learns nothing; after the step ``standardise`` every feature has the same weight.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("euclidean").fit(X)
        >>> bool(learner.metric().distances(X[:1], X[1:2])[0, 0].round(6) == ((X[0] - X[1]) ** 2).sum().round(6))
        True
    """

    def _distance(self, n_features: int) -> LinearDistance:
        return LinearDistance(n_features)


class L1(declarations.L1, FixedDistance):
    """Learns nothing; compared with in Yang et al. 2010 (Semblance reports the square of the distance, as
    for every metric).

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("l1").fit(X)
        >>> float(learner.pair_distance(X[:2][None])[0].round(2)) == float(abs(X[0] - X[1]).sum().round(2))
        True
    """

    _embeds: ClassVar[bool] = False

    def _distance(self, n_features: int) -> CityBlockDistance:
        return CityBlockDistance(n_features)
