"""Squared Euclidean distance of the features as they are: what every learner is measured against."""

from __future__ import annotations

from typing import ClassVar

from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.estimators.fixed_distances import Unlearnt


class Euclidean(Unlearnt):
    """Learns nothing; after the step ``standardise`` every feature counts alike."""

    name: ClassVar[str] = "euclidean"
    title: ClassVar[str] = "Euclidean"
    summary: ClassVar[str] = "Plain visual likeness: nothing is learnt, all features count alike."

    def _distance(self, n_features: int) -> LinearDistance:
        return LinearDistance(n_features)
