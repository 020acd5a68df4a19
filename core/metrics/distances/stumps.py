"""A weighted sum of stumps (thresholded projections): a distance without coordinates (Bi et al. 2011, 3.2)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix, Part
from semblance.core.metrics.distances.projection_thresholds import ThresholdDistance

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

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[Part]:
        """One part for each stump, numbered from 1, and one that raises a negative sum to 0."""
        # As between() does: at a threshold a rounding would decide.
        difference = q @ self.directions - x @ self.directions
        amounts = np.where(difference * difference >= self.thresholds, self.weights, 0.0)
        parts = [
            Part(tr_lazy("vote {number}", number=number), float(amount))
            for number, amount in enumerate(amounts, 1)
        ]
        return lifted(parts, float(amounts.sum()))


def lifted(parts: list[Part], total: float) -> list[Part]:
    """``parts``, and where their sum ``total`` is negative the part that makes it the distance 0."""
    return [*parts, Part(tr_lazy("lifted to zero"), -total)] if total < 0.0 else parts
