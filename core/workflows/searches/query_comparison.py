"""A query compared with all cases: its own patient hidden, cases of one lesion grouped under the nearest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.feedback import CaseScale, FeedbackCases, MarkedIndex
from semblance.core.retrieval.index import DistanceIndex, Index, Matrix, Rows, nearest_first
from semblance.core.retrieval.place_comparison import CombinedComparison, PlaceComparison
from semblance.core.retrieval.ranking import (
    CANDIDATES_PER_CASE,
    AnyIndex,
    EmbeddedQuery,
    Ranking,
    diverse_order,
    first_of_each_key,
    rank,
    rankable_cases,
)
from semblance.core.retrieval.refined_index import RefinedIndex
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, PLACE, WHOLE, Search
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.place_search import PlaceSearch, image_places

#: Number of cases with another finding listed below the ranking, and of near-duplicates of one case listed by id.
OTHERS, MAX_LISTED = 6, 100
#: For one case: the number of grouped near-duplicates, the ids of the first of them, their distances, and the other
#: findings that they have.
GroupedCases = tuple[int, tuple[int, ...], tuple[float, ...], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class QueryComparison:
    """The query of a search, the index it is compared by, and the cases that may be ranked.

    ``marked_index``: the order by marks, if there are any; ``index`` is then the order before them.
    ``neighbour_distances`` (s, c): squared distances from some cases to some that are near by the same index.
    ``vector_of``: gives the vector of another query, as ``query.embedded``. ``changed``: why the ranking differs from
    that of the metric as it was scored, else empty. ``by_place``: the search by place that compares the cases, alone or
    beside the metric.
    """

    loaded: LoadedMetric
    search: Search
    query: EmbeddedQuery
    index: AnyIndex
    neighbour_distances: Matrix
    vector_of: Callable[[Query], Matrix]
    changed: str = ""
    marked_index: MarkedIndex | None = None
    by_place: PlaceSearch | None = None

    def rank(self, k: int, among: npt.NDArray[np.bool_] | None = None) -> Ranking:
        """The ``k`` nearest, of the cases ``among`` (n,) only."""
        if self.by_place is not None:
            comparable = self.by_place.comparison.with_places
            among = comparable if among is None else among & comparable
        return rank(
            self.index if self.marked_index is None else self.marked_index,
            self.query,
            k,
            patients=self.loaded.patient_codes if self.search.hide_same_patient else None,
            keys=self.loaded.keys if self.search.group_duplicates else None,
            allowed=among,
        )

    def tie_distances(self, rows: Rows) -> Matrix | None:
        """(r,) what orders cases at equal distance; ``None`` where nothing but the row number does."""
        if not isinstance(self.index, Index | DistanceIndex | RefinedIndex):
            return None
        return self.index.tie_distances(rows, self.query.tie_break)

    @property
    def by(self) -> str:
        """PLACE, WHOLE or BOTH: what is compared."""
        if self.by_place is None:
            return WHOLE
        return PLACE if isinstance(self.index, PlaceComparison) else BOTH

    @property
    def by_metric_alone(self) -> bool:
        """Whether the metric compares the cases, as it was scored."""
        return isinstance(self.index, Index | DistanceIndex | CandidateIndex)

    @property
    def candidates(self) -> int | None:
        """The number of candidates that were compared; ``None`` where all cases were."""
        index = self.index
        if self.marked_index is not None or not isinstance(
            index, CandidateIndex | PlaceComparison | CombinedComparison
        ):
            return None
        return index.candidates

    def coordinates(self, places: Rows) -> Matrix:
        """(r, m) coordinates whose Euclidean distances are those of the index, or approximate them if it has no
        coordinates."""
        if isinstance(self.index, RefinedIndex):
            return self.index.embedded(places)
        if isinstance(self.index, PlaceComparison):
            return self.index.coordinates(places)
        of_metric = np.asarray(self.loaded.coordinates(places), dtype=np.float64)
        if isinstance(self.index, CombinedComparison):
            return self.index.beside(self.index.places.coordinates(places), of_metric)
        return of_metric

    @property
    def query_coordinates(self) -> Matrix:
        """(m,) the query in the space of :meth:`coordinates`."""
        if self.by_place is not None:
            return self._beside(self.by_place.query.compared.coordinates, self.query.embedded)
        return self._embedded(self.query.embedded)

    def coordinates_of(self, query: Query) -> Matrix:
        """(m,) another query in the space of :meth:`coordinates`.

        Raises:
            BadInput: no such case, no features for it, or an image that cannot be read.
        """
        if self.by_place is not None:
            codes = image_places(self.loaded, self.by_place.stored, query)[0]
            return self._beside(self.by_place.comparison.coordinates_of(codes), self.vector_of(query))
        return self._embedded(self.vector_of(query))

    def _beside(self, of_places: Matrix, of_metric: Matrix) -> Matrix:
        """The coordinates of one case or query by place with those by the metric, where both compare."""
        if not isinstance(self.index, CombinedComparison):
            return of_places
        found: Matrix = self.index.beside(of_places[np.newaxis], np.asarray(of_metric)[np.newaxis])[0]
        return found

    def _embedded(self, vector: Matrix) -> Matrix:
        vector = np.asarray(vector, dtype=np.float64)
        if not isinstance(self.index, RefinedIndex):
            return vector
        embedded: Matrix = self.index.form.embed(vector[np.newaxis])[0]
        return embedded


def rank_candidates(compared: QueryComparison, count: int) -> Ranking:
    """The ``count`` nearest; more candidates for a diverse search."""
    return compared.rank(count * CANDIDATES_PER_CASE if compared.search.diverse > 0.0 else count)


def shown_order(compared: QueryComparison, found: Ranking, k: int) -> Rows:
    """Positions among the ranked cases of the ``k`` to show; a diverse search chooses cases that differ from each
    other."""
    if compared.search.diverse <= 0.0:
        return np.arange(min(k, len(found.rows)))
    coordinates = compared.coordinates(found.rows)
    # In an order by marks, an earlier case counts as nearer.
    return diverse_order(np.sort(found.distances), coordinates, k, compared.search.diverse)


def nearest_others(compared: QueryComparison, found: Ranking, finding: str | None) -> tuple[Rows, Matrix]:
    """The nearest cases with another finding than ``finding``, near-duplicates grouped; none for ``None``."""
    if finding is None:
        return np.empty(0, dtype=np.int64), np.empty(0)
    loaded = compared.loaded
    own = loaded.code_of(finding)

    def is_other(codes: Rows) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (codes >= 0) & (codes != own)
        return found

    near = np.flatnonzero(is_other(loaded.finding_codes[found.rows]))[:OTHERS]
    rows, distances = found.rows[near], found.distances[near]
    if len(near) < OTHERS and compared.marked_index is None and not isinstance(compared.index, RefinedIndex):
        # A mark must not need a second comparison with all cases; the window ranks two hundred.
        again = compared.rank(OTHERS, among=is_other(loaded.finding_codes))
        rows, distances = again.rows, again.distances
    return rows, distances


def grouped_cases(compared: QueryComparison, found: Ranking) -> dict[int, GroupedCases]:
    """The near-duplicates grouped at each rank."""
    loaded, query = compared.loaded, compared.query
    out: dict[int, GroupedCases] = {}
    for at in np.flatnonzero(found.duplicate_counts).tolist():
        place = int(found.rows[at])
        equal = loaded.keys == loaded.keys[place]
        if compared.search.hide_same_patient:
            equal &= ~query.same_patient_cases(loaded.patient_codes)
        copies = [one for one in np.flatnonzero(equal).tolist() if one not in (place, query.position)]
        others = {loaded.findings[one] for one in copies} - {None, loaded.findings[place]}
        copies = copies[:MAX_LISTED]
        measured = compared.index.distances(query.embedded, np.array(copies, dtype=np.int64)).tolist()
        out[place] = (
            int(found.duplicate_counts[at]),
            tuple(loaded.rows[copies].tolist()),
            tuple(measured),
            tuple(sorted(filter(None, others))),
        )
    return out


class MeasuredQuery:
    """A ``query`` under the metric alone: the distances of all cases from it, given or measured on first use, and the
    ranks by them."""

    def __init__(self, loaded: LoadedMetric, query: EmbeddedQuery, distances: Matrix | None = None) -> None:
        self._loaded, self.query = loaded, query
        if distances is not None:
            self.distances = distances
        self._rankings: dict[tuple[bool, bool, bool, int | None], Ranking] = {}

    @classmethod
    def of(cls, loaded: LoadedMetric, query: EmbeddedQuery) -> MeasuredQuery:
        """The cached one, or a new one for another query."""
        cached = loaded.cache.get(cls)
        if cached is not None and _is_same(cached.query, query):
            return cached
        return loaded.cache.keep(cls(loaded, query))

    @cached_property
    def distances(self) -> Matrix:
        """(n,) squared distances of all cases from the query."""
        found: Matrix = self._loaded.index.distances(self.query.embedded, np.arange(len(self._loaded.rows)))
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with the library."""
        known = (self.__dict__.get(name) for name in ("distances", "feedback_cases"))
        return sum(one.nbytes for one in known if one is not None)

    @cached_property
    def feedback_cases(self) -> FeedbackCases:
        """What all orders by marks on this query have in common."""
        shape = (len(self.distances), len(self.query.embedded))
        loaded = self._loaded
        scale = loaded.cache.or_made(CaseScale, lambda: CaseScale.of(loaded.coordinates, shape))
        return FeedbackCases(loaded.coordinates, shape, self.distances, scale)

    def keep(self, compared: QueryComparison, found: Ranking) -> None:
        """Keep the ranking without marks that ``compared`` found, which compares this query by the metric alone."""
        self._rankings[_shown(compared.search)] = found

    def ranking(self, compared: QueryComparison, count: int) -> Ranking:
        """That which was kept, or the first ``count`` cases of ``compared``: without marks, it is the same after every
        mark."""
        key = _shown(compared.search)
        if key not in self._rankings:
            self._rankings[key] = rank_candidates(compared, count)
        return self._rankings[key]

    def shifts(self, search: Search, places: Sequence[int]) -> tuple[int, ...]:
        """By how many ranks each case of the present order moved forward from its rank under the metric.

        Ranks are counted among what ``search`` shows: without the query's own patient where it is hidden, and a group
        of near-duplicates as one case.
        """
        before = self._ranks(search.hide_same_patient, search.group_duplicates, list(places)).tolist()
        return tuple(was - now for now, was in enumerate(before))

    def _ranks(self, hide_same_patient: bool, group_duplicates: bool, places: list[int]) -> Rows:
        """(p,) the ranks of cases that can be shown, from 0; equal ones as the index has them. Cases of a group have
        the rank of their nearest."""
        loaded, query = self._loaded, self.query
        keys = loaded.keys if group_duplicates else None
        patients = loaded.patient_codes if hide_same_patient else None
        shown = rankable_cases(len(self.distances), query, patients, keys)
        # Only what is as near can come before them: to order hundreds of thousands of cases takes longer than a mark.
        shown &= self.distances <= self.distances[places].max(initial=-np.inf)
        rows = np.flatnonzero(shown)
        ties = loaded.index.tie_distances(rows, query.tie_break)
        rows = rows[nearest_first(self.distances[rows], ties, rows)]
        first = first_of_each_key(rows, keys)
        ranks = np.zeros(len(shown), dtype=np.int64)
        ranks[rows[first]] = np.arange(len(first))
        if keys is not None:
            grouped = rows[keys[rows] >= 0]
            _, nearest, group = np.unique(keys[grouped], return_index=True, return_inverse=True)
            ranks[grouped] = ranks[grouped[nearest]][group]
        found: Rows = ranks[places]
        return found


def _shown(search: Search) -> tuple[bool, bool, bool, int | None]:
    """What the first cases of a search without marks depend on, beside query and metric."""
    return search.hide_same_patient, search.group_duplicates, search.diverse > 0.0, search.candidates


def _is_same(one: EmbeddedQuery, other: EmbeddedQuery) -> bool:
    """Whether both are the same query of the same patient."""
    arrays = ("embedded", "same_patient", "copies")
    same = all(np.array_equal(_rows(getattr(one, name)), _rows(getattr(other, name))) for name in arrays)
    return same and (one.position, one.patient, one.key) == (other.position, other.patient, other.key)


def _rows(values: Matrix | Rows | None) -> Matrix | Rows:
    return np.empty(0) if values is None else values
