"""Search in many cases for which a server finds candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.index import Index, Matrix, NearestRows, Rows, check_filter, checked_query

#: The number of nearest cases that the recall of candidates is measured for.
RECALL_AT = 20
#: More rows than so many are not read one by one.
_MANY = 5_000


class CandidateSource(Protocol):
    """Finds candidates by an approximate index; cases have numbers."""

    def nearest(self, query: Matrix, count: int, cases: Rows, allowed: Rows | None) -> tuple[Rows, Matrix]:
        """``count`` cases near ``query`` (m,), ascending, and their coordinates (c, m), float64; fewer only where fewer
        are ``allowed`` of all ``cases``."""
        ...

    def coordinates(self, cases: Rows) -> Matrix:
        """(c, m) coordinates of ``cases`` (c,), float64."""
        ...


class CandidateIndex:
    """As :class:`semblance.core.retrieval.index.Index`, but only candidates are compared.

    Their order is exact: they are compared in float64 by direct difference, and equal distances are ordered by row
    number. A case that is not among the candidates is missed; no filter makes the candidates fewer.
    """

    def __init__(
        self,
        source: CandidateSource,
        cases: Rows,
        n_features: int,
        candidates: int,
        exact: Callable[[], Index],
    ) -> None:
        """``cases`` (n,): the number of the case in each row, ascending. ``candidates``: how many are compared for the
        first 20; more for more. ``exact`` gives the index of all rows, for distances to many of them."""
        self._source, self._cases, self.candidates, self._exact = source, cases, candidates, exact
        self._n_features = n_features

    def __len__(self) -> int:
        return len(self._cases)

    @property
    def n_features(self) -> int:
        """Columns of the embedding."""
        return self._n_features

    def with_candidates(self, candidates: int) -> CandidateIndex:
        """The same cases with another number of candidates."""
        return CandidateIndex(self._source, self._cases, self._n_features, candidates, self._exact)

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` nearest candidates to ``query`` (m,), fewer where fewer rows are allowed; see ``Index.search``.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        q = checked_query(query, self._n_features)
        check_filter(allowed, len(self))
        chosen = None if allowed is None else self._cases[allowed]
        k = min(k, len(self) if chosen is None else len(chosen))
        if k < 1:
            return NearestRows(np.empty(0, dtype=np.int64), np.empty(0))
        count = self.candidates + 2 * max(0, k - RECALL_AT)
        cases, coordinates = self._source.nearest(q, max(count, k), self._cases, chosen)
        distances = _squared(coordinates, q)
        order = np.argsort(distances, kind="stable")[:k]
        return NearestRows(np.searchsorted(self._cases, cases[order]), distances[order])

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) squared distances of ``query`` (m,) to some ``rows`` (r,), as :meth:`search` gives them.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        q = checked_query(query, self._n_features)
        if len(rows) > _MANY:
            return self._exact().distances(q, rows)
        return _squared(self.coordinates(rows), q)

    def coordinates(self, rows: Rows) -> Matrix:
        """(r, m) coordinates of ``rows`` (r,)."""
        return self._source.coordinates(self._cases[rows])


def _squared(coordinates: Matrix, q: Matrix) -> Matrix:
    difference = coordinates - q
    distances: Matrix = np.einsum("ij,ij->i", difference, difference)
    return distances
