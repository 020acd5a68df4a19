"""L1 distance of the features as they are: what single far-off features disturb least."""

from __future__ import annotations

from typing import ClassVar

from semblance.core.metrics.distances.city_block import CityBlockDistance
from semblance.core.metrics.estimators.fixed_distances import Unlearnt


class L1(Unlearnt):
    """Learns nothing; a comparator of Yang et al. 2010 (Semblance reports the square of the distance)."""

    name: ClassVar[str] = "l1"
    title: ClassVar[str] = "L1"
    summary: ClassVar[str] = "Plain likeness by absolute differences: a single odd feature weighs less."

    def _distance(self, n_features: int) -> CityBlockDistance:
        return CityBlockDistance(n_features)
