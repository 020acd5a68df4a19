"""L1 distance of the features as they are: what single far-off features disturb least."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.metrics.card import MetricCard
from core.metrics.distances.city_block import CityBlockDistance
from core.metrics.inputs.rows import training_rows
from core.metrics.learner import Learner
from core.metrics.metric import Metric
from core.metrics.training import begin_card
from core.tasks import Reporter


class L1(Learner):
    """Learns nothing; a comparator of Yang et al. 2010 (Semblance reports the square of the distance)."""

    name: ClassVar[str] = "l1"
    title: ClassVar[str] = "L1"
    paper: ClassVar[str] = ""
    summary: ClassVar[str] = "Plain likeness by absolute differences: a single odd feature weighs less."

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

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
        rows = training_rows(X, groups)
        self.n_features_: int = rows.shape[1]
        self._card: MetricCard = begin_card(self, len(rows), y=y, groups=groups)
        return self

    def metric(self) -> Metric:
        return Metric((), CityBlockDistance(self.n_features_), self._card)
