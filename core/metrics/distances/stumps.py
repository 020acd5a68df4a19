"""Distances by thresholds of projections, and with signed weights."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, DistancePart, Matrix
from semblance.core.metrics.distances.bits import ThresholdDistance
from semblance.core.metrics.distances.linear import parts_by_group

_BLOCK = 1 << 16


class StumpDistance(ThresholdDistance):
    """H(x, x') = sum_t alpha_t [(u_t . (x - x'))^2 >= beta_t], and 0 where that is negative.

    ``directions`` (d, T) holds the u_t as columns, ``thresholds`` (T,) the beta_t > 0, ``weights`` (T,) the
    alpha_t, of either sign. No triangle inequality holds.
    """

    kind: ClassVar[str] = "votes"
    is_metric = False
    positive: ClassVar[str] = "thresholds"
    embeds = False

    def embed(self, X: Matrix) -> Matrix:
        """There is none.

        Raises:
            BadInput: always.
        """
        raise BadInput(
            "A metric of votes has no coordinates: it compares pairs.",
            "Search it by comparing all cases, or train with readout=mahalanobis.",
        )

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): the sum of alpha over the stumps above their threshold, at least 0."""
        from_q, from_x = Q @ self.directions, X @ self.directions
        out = np.empty((len(from_q), len(from_x)))
        rows = max(1, _BLOCK // max(1, len(self.weights)))
        for start in range(0, len(from_x), rows):
            block = from_x[start : start + rows]
            for row, q in enumerate(from_q):
                difference = block - q
                is_far = difference * difference >= self.thresholds
                out[row, start : start + rows] = np.where(is_far, self.weights, 0.0).sum(axis=1)
        return np.maximum(out, 0.0, out=out)

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """One part for each stump, numbered from 1, and one that raises a negative sum to 0."""
        # As between() does: at a threshold a rounding would decide.
        difference = q @ self.directions - x @ self.directions
        amounts = np.where(difference * difference >= self.thresholds, self.weights, 0.0)
        parts = [
            DistancePart(tr_lazy("vote {number}", number=number), float(amount))
            for number, amount in enumerate(amounts, 1)
        ]
        return lifted(parts, float(amounts.sum()))


def lifted(parts: list[DistancePart], total: float) -> list[DistancePart]:
    """``parts``, and where their sum ``total`` is negative the part that makes it the distance 0."""
    return [*parts, DistancePart(tr_lazy("lifted to zero"), -total)] if total < 0.0 else parts


class SignedDistance(Distance):
    """d(x, x') = z'Mz with z = x - x' and M = L' diag(signs) L, and 0 where that is negative.

    ``L`` (m, d), ``signs`` (m,) of +1 and -1. No triangle inequality holds, and there are no coordinates.
    """

    kind: ClassVar[str] = "signed"
    is_metric = False
    ties = True
    embeds = False

    def __init__(self, L: Matrix, signs: Matrix) -> None:
        self.L = L
        self.signs = signs

    @property
    def n_features(self) -> int:
        """d, the columns of L."""
        return int(self.L.shape[1])

    def embed(self, X: Matrix) -> Matrix:
        """There is none.

        Raises:
            BadInput: always.
        """
        raise BadInput(
            "This metric subtracts similarities: it has no coordinates, it compares pairs.",
            "Search it by comparing all cases, or train with allow_similarity=false.",
        )

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): z'Mz by direct difference, 0 where it is negative."""
        from_q, from_x = Q @ self.L.T, X @ self.L.T
        out = np.empty((len(from_q), len(from_x)))
        for row, q in enumerate(from_q):
            difference = from_x - q
            out[row] = np.einsum("ij,j,ij->i", difference, self.signs, difference)
        return np.maximum(out, 0.0, out=out)

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """z_g (Mz)_g summed over each group g, and one part that lifts a negative sum to 0."""
        z = q - x
        e = q @ self.L.T - x @ self.L.T
        total = float(e @ (self.signs * e))
        return lifted(parts_by_group(z * ((self.signs * e) @ self.L), names, total), total)

    def settings(self) -> dict[str, Any]:
        """None are needed."""
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """L and the signs of its rows."""
        return {"L": self.L, "signs": self.signs}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`.

        Raises:
            BadInput: an array that is missing or of another form, or signs other than +1 and -1.
        """
        if settings or set(arrays) != {"L", "signs"}:
            raise BadInput("A signed distance needs its map and its signs.")
        L, signs = arrays["L"], arrays["signs"]
        if L.dtype != np.float64 or signs.dtype != np.float64 or L.ndim != 2 or L.shape[1] < 1:
            raise BadInput("The arrays of a signed distance have the wrong form.")
        if signs.shape != L.shape[:1] or not (np.abs(signs) == 1.0).all():
            raise BadInput("The signs of a signed distance are not one +1 or -1 a row of its map.")
        return cls(L, signs)
