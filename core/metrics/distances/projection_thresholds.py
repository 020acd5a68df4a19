"""What distances share that are made of thresholds on projections."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, Matrix

_NAMES = ("directions", "thresholds", "weights")


class ThresholdDistance(Distance):
    """``directions`` (d, T) holds the projections as columns; ``thresholds`` and ``weights`` are (T,).

    Few values are possible, so many cases tie.
    """

    ties = True
    #: Which of its arrays must be positive throughout.
    positive: ClassVar[str]

    def __init__(self, directions: Matrix, thresholds: Matrix, weights: Matrix) -> None:
        self.directions = directions
        self.thresholds = thresholds
        self.weights = weights

    @property
    def n_features(self) -> int:
        """d, the rows of ``directions``."""
        return int(self.directions.shape[0])

    def settings(self) -> dict[str, Any]:
        """None are needed."""
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Directions, thresholds and weights."""
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`.

        Raises:
            BadInput: an array that is missing, of another type, does not fit the others, or is not positive as it
                must be.
        """
        what = tr_lazy("A distance of {kind}", kind=cls.kind)
        if settings or set(arrays) != set(_NAMES):
            raise BadInput(tr_lazy("{what} needs directions, thresholds and weights.", what=what))
        directions, thresholds, weights = (arrays[name] for name in _NAMES)
        if any(array.dtype != np.float64 for array in arrays.values()) or directions.ndim != 2:
            raise BadInput(tr_lazy("{what} has arrays of the wrong form.", what=what))
        if thresholds.shape != weights.shape or thresholds.shape != directions.shape[1:]:
            raise BadInput(tr_lazy("{what} has arrays that do not fit together.", what=what))
        if directions.shape[0] < 1 or not (arrays[cls.positive] > 0).all():
            raise BadInput(
                tr_lazy("{what} has {positive} that are not all positive.", what=what, positive=cls.positive)
            )
        return cls(directions, thresholds, weights)
