"""The sum of absolute differences, as a squared distance."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance, DistancePart, Matrix
from semblance.core.metrics.distances.linear import parts_by_group


class CityBlockDistance(Distance):
    """d(x, x') = (sum_k |x_k - x'_k|)^2: its root is the L1 distance, which obeys the triangle inequality."""

    kind: ClassVar[str] = "city block"
    embeds = False

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features

    @property
    def n_features(self) -> int:
        """d, the columns of the rows it compares."""
        return self._n_features

    def embed(self, X: Matrix) -> Matrix:
        """There is none.

        Raises:
            BadInput: always.
        """
        raise BadInput(
            "The L1 distance has no coordinates: it compares pairs.", "Search it by comparing all cases."
        )

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): the squared sums of absolute differences."""
        out = np.empty((len(Q), len(X)))
        for row, q in enumerate(Q):
            np.abs(X - q).sum(axis=1, out=out[row])
        np.square(out, out=out)
        return out

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """|z_k| times the sum of all |z|, z = q - x, summed over each group: never negative."""
        size = np.abs(q - x)
        return parts_by_group(size * size.sum(), names)

    def settings(self) -> dict[str, Any]:
        """The number of features."""
        return {"n_features": self._n_features}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """None are needed."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings`.

        Raises:
            BadInput: no number of features, or an array.
        """
        n_features = settings.get("n_features")
        if not isinstance(n_features, int) or n_features < 1 or arrays:
            raise BadInput("An L1 distance without its number of features.")
        return cls(n_features)
