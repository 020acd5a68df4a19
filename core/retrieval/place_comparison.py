"""The cases of a library compared with one query by place, or by place and by a metric together."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Codes
from semblance.core.retrieval.candidate_index import RECALL_AT, CandidateIndex
from semblance.core.retrieval.index import DistanceIndex, Index, Matrix, NearestRows, Rows, check_filter
from semblance.core.retrieval.place_index import PlaceIndex, PlaceQuery

#: The distance of a case without places, which no other case reaches.
_WITHOUT = 4.5
#: Cases that the spread of distances is measured on.
_SAMPLE = 500


class PlaceComparison:
    """As :class:`semblance.core.retrieval.index.Index`, for n cases and one query by place.

    The coordinates of a case are the best matches of the query's places in it, each times the root of its weight: their
    squared Euclidean distance from those of the query is the distance of the case, and that of two cases says how
    different the places are that match.
    """

    def __init__(self, index: PlaceIndex, query: PlaceQuery, rows: Rows) -> None:
        """``rows`` (n,): the row of each case in ``index``, ascending where it is not -1, which is no row."""
        self.index, self.query, self._rows = index, query, rows
        #: (n,) the cases that have places.
        self.with_places: npt.NDArray[np.bool_] = rows >= 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def candidates(self) -> int | None:
        """The number of candidates that are compared; ``None`` where all cases are."""
        return self.index.candidates or None

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` nearest cases with places among those ``allowed`` (n,)."""
        check_filter(allowed, len(self))
        chosen = self._rows[self.with_places if allowed is None else self.with_places & allowed]
        mask = np.zeros(len(self.index), dtype=np.bool_)
        mask[chosen] = True
        found = self.index.search(self.query, k, mask)
        return NearestRows(self._positions[found.rows], found.distances)

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) distances of some cases; those without places are behind all others."""
        rows = np.asarray(rows, dtype=np.int64)
        there = self.with_places[rows]
        found = np.full(len(rows), _WITHOUT)
        found[there] = self.index.distances(self.query, self._rows[rows[there]])
        return found

    def all_distances(self) -> Matrix:
        """(n,) distances of all cases, with an error up to 2e-5; computed once."""
        return self._all

    def coordinates(self, rows: Rows) -> Matrix:
        """(r, q * m) coordinates of some cases; 0 for those without places."""
        there = self.with_places[rows]
        found = np.zeros((len(rows), self.query.places.size))
        found[there] = self.index.matched(self.query, self._rows[rows[there]])
        return found

    def coordinates_of(self, codes: Codes) -> Matrix:
        """(q * m,) an image that is no case in the space of :meth:`coordinates`, by its coded places (p, m)."""
        found: Matrix = PlaceIndex(codes[np.newaxis]).matched(self.query, np.zeros(1, dtype=np.int64))[0]
        return found

    def index_rows(self, rows: Rows) -> Rows:
        """(r,) the rows in :attr:`index` of some cases; -1 for those without places."""
        found: Rows = self._rows[rows]
        return found

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the distances of the cases, on a sample."""
        sample = _sample(self._rows[self.with_places])
        return spread_of(self.index.nearly_exact_distances(self.query, sample))

    @cached_property
    def _all(self) -> Matrix:
        distances = np.full(len(self), _WITHOUT)
        distances[self.with_places] = self.index.nearly_exact_distances(
            self.query, None if self.with_places.all() else self._rows[self.with_places]
        )
        return distances

    @cached_property
    def _positions(self) -> Rows:
        positions = np.full(len(self.index), -1, dtype=np.int64)
        positions[self._rows[self.with_places]] = np.flatnonzero(self.with_places)
        return positions


class CombinedComparison:
    """As :class:`PlaceComparison`, by place and by a metric.

    The distance is ``weight`` times that by place over its standard deviation in the library, plus 1 - ``weight`` times
    that of the metric over its own: the order of the sum of their z-scores. Where the places have candidates, those and
    as many nearest by the metric are compared.
    """

    def __init__(
        self,
        places: PlaceComparison,
        index: Index | DistanceIndex | CandidateIndex,
        embedded: Matrix,
        tie_break: Matrix | None = None,
        weight: float = 0.5,
    ) -> None:
        """``index`` compares the same cases as ``places``, with the query in its coordinates, ``embedded`` (m,) and
        ``tie_break`` (d,)."""
        self.places, self._index, self._embedded, self._tie_break = places, index, embedded, tie_break
        sample = _sample(np.flatnonzero(places.with_places))
        of_metric = spread_of(index.distances(embedded, sample))
        #: What the distance by place and that of the metric are multiplied by.
        self.factors = weight / places.spread, (1.0 - weight) / of_metric
        self.with_places = places.with_places

    def __len__(self) -> int:
        return len(self.places)

    @property
    def candidates(self) -> int | None:
        """As :attr:`PlaceComparison.candidates`."""
        return self.places.candidates

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` nearest cases with places among those ``allowed`` (n,)."""
        check_filter(allowed, len(self))
        mask = self.with_places if allowed is None else self.with_places & allowed
        k = min(k, int(mask.sum()))
        if k < 1:
            return NearestRows(np.empty(0, dtype=np.int64), np.empty(0))
        number = None if self.candidates is None else self.candidates + 2 * max(0, k - RECALL_AT)
        if number is None or number >= mask.sum():
            rows = np.flatnonzero(mask)
            near = self.all_distances()[rows]
            least = np.partition(near, k - 1)[k - 1]
            # Both distances are measured again where the first could have been wrong by its rounding.
            rows = rows[near <= least + 8e-5 * self.factors[0]]
        else:
            by_place = self.places.search(query, number, mask).rows
            by_metric = self._index.search(self._embedded, number, mask, tie_query=self._tie_break).rows
            rows = np.union1d(by_place, by_metric)
        distances = self.distances(query, rows)
        order = np.lexsort((rows, distances))[:k]
        return NearestRows(rows[order], distances[order])

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) distances of some cases."""
        by_place, by_metric = self.factors
        of_metric = self._index.distances(self._embedded, rows)
        found: Matrix = by_place * self.places.distances(query, rows) + by_metric * of_metric
        return found

    def beside(self, of_places: Matrix, of_metric: Matrix) -> Matrix:
        """(r, d) coordinates by place (r, q * m) and by the metric (r, m) side by side, in which squared Euclidean
        distance is that of this comparison."""
        by_place, by_metric = self.factors
        return np.hstack([np.sqrt(by_place) * of_places, np.sqrt(by_metric) * of_metric])

    def all_distances(self) -> Matrix:
        """(n,) distances of all cases, nearly exact; computed once."""
        return self._all

    @cached_property
    def _all(self) -> Matrix:
        by_place, by_metric = self.factors
        of_metric = self._index.distances(self._embedded, np.arange(len(self)))
        found: Matrix = by_place * self.places.all_distances() + by_metric * of_metric
        return found


def _sample(rows: Rows) -> Rows:
    """Some of ``rows``, the same at every call."""
    if len(rows) <= _SAMPLE:
        return rows
    chosen = np.random.default_rng(0).choice(len(rows), _SAMPLE, replace=False)
    found: Rows = rows[np.sort(chosen)]
    return found


def spread_of(distances: Matrix) -> float:
    """The standard deviation of ``distances`` (s,); 1 for equal ones."""
    spread = float(distances.std()) if len(distances) else 0.0
    return spread if spread > 1e-12 else 1.0
