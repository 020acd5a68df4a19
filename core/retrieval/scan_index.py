"""Search for metrics without coordinates: the query is compared with every row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance
from semblance.core.retrieval.index import (
    Index,
    Matrix,
    NearestRows,
    PreparedRows,
    Rows,
    check_filter,
    checked_query,
)


class ScanIndex:
    """As :class:`semblance.core.retrieval.index.Index`, for a distance without an embedding.

    The rows are those after the metric's steps, compared in float64 by the distance itself. Rows at equal
    distance are ordered by ``tie_break``, then by row number.
    """

    def __init__(
        self,
        distance: Distance,
        rows: npt.NDArray[np.floating],
        tie_break: npt.NDArray[np.floating] | None = None,
    ) -> None:
        """``rows`` (n, d), ``tie_break`` (n, m).

        Raises:
            BadInput: not a table that fits the distance, or tables of different length.
        """
        if rows.ndim != 2 or rows.shape[1] != distance.n_features:
            raise BadInput("The rows of an index do not fit its metric.")
        if tie_break is not None and len(tie_break) != len(rows):
            raise BadInput("The two tables of an index differ in length.")
        self._distance, self._rows, self._tie_break = distance, rows, tie_break

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self._rows.shape[1])

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` rows nearest to ``query`` (d,), fewer where fewer are allowed; see ``Index.search``.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        q = checked_query(query, self.n_features)
        check_filter(allowed, len(self))
        rows: Rows = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        k = min(k, len(rows))
        if k < 1:
            return NearestRows(np.empty(0, dtype=np.int64), np.empty(0))
        distances = self._measure(rows, q)
        near = np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1])
        rows, distances = rows[near], distances[near]
        keys: list[npt.NDArray[np.generic]] = [rows, distances]
        if self._tie_break is not None and tie_query is not None:
            keys.insert(1, Index(self._tie_break[rows]).distances(tie_query, np.arange(len(rows))))
        order = np.lexsort(tuple(keys))[:k]
        return NearestRows(rows[order], distances[order])

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) distances of ``query`` (d,) to some ``rows`` (r,), as :meth:`search` gives them.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        return self._measure(np.asarray(rows, dtype=np.int64), checked_query(query, self.n_features))

    def _measure(self, rows: Rows, q: Matrix) -> Matrix:
        wide = self._rows[rows].astype(np.float64, copy=False)
        return self._distance.between(q[np.newaxis], wide).reshape(-1)


def index_for(
    distance: Distance,
    coordinates: npt.NDArray[np.floating],
    tie_break: npt.NDArray[np.floating] | None,
    prepared: PreparedRows | None = None,
    prepared_ties: PreparedRows | None = None,
) -> Index | ScanIndex:
    """The index of rows given by ``Metric.coordinates`` and ``Metric.tie_break``; the rest as ``Index`` takes it.

    Raises:
        BadInput: tables that do not fit.
    """
    if distance.embeds:
        return Index(coordinates, tie_break, prepared=prepared, prepared_ties=prepared_ties)
    return ScanIndex(distance, coordinates, tie_break)
