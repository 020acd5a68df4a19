"""The ranking of one query in the order of scores instead of distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.index import Matrix, NearestRows, Rows


class FeedbackIndex:
    """As :class:`semblance.core.retrieval.index.Index`, for one query whose cases are ordered by scores.

    ``distances`` (n,): squared distances from the query, which results contain. ``scores`` (n,): larger ones come
    first; equal ones are ordered by distance, then by row number.
    """

    def __init__(self, distances: Matrix, scores: Matrix) -> None:
        self._distances, self.scores = distances, scores

    def __len__(self) -> int:
        return len(self.scores)

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The first ``k`` rows among those ``allowed`` (n,); ``query`` must be the query of the index."""
        rows = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        scores = self.scores[rows]
        k = min(k, len(rows))
        if 0 < k < len(rows):
            # All that equal the last one are included, so that their distances can decide.
            chosen = scores >= np.partition(scores, len(rows) - k)[len(rows) - k]
            rows, scores = rows[chosen], scores[chosen]
        order = np.lexsort((self._distances[rows], -scores))[:k]
        found: Rows = rows[order]
        return NearestRows(found, self._distances[found])

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) squared distances of the query to some ``rows`` (r,)."""
        return self._distances[rows]

    def count_before(self, last: int, rows: Rows) -> int:
        """How many of ``rows`` (r,) come at or before the row ``last``."""
        return int(np.count_nonzero(self.scores[rows] >= self.scores[last]))
