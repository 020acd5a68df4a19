"""The ranking of one query: its own patient hidden, cases of one lesion grouped under the nearest of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.feedback import MarkedIndex
from semblance.core.retrieval.index import DistanceIndex, Index, Matrix, Rows
from semblance.core.retrieval.ranking import (
    CANDIDATES_PER_CASE,
    AnyIndex,
    EmbeddedQuery,
    Ranking,
    diverse_order,
    rank,
)
from semblance.core.retrieval.refined_index import RefinedIndex
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.loaded_metric import LoadedMetric

#: Number of cases with another finding listed below the ranking, and of near-duplicates of one case listed by id.
OTHERS, MAX_LISTED = 6, 100
#: For one case: the number of grouped near-duplicates, the ids of the first of them, their distances, and the other
#: findings that they have.
GroupedCases = tuple[int, tuple[int, ...], tuple[float, ...], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class QueryComparison:
    """The query of a search, the index it is compared by, and the cases that may be ranked.

    ``ordered``: the order by marks, if there are any; ``index`` is then the order before them. ``nearest`` (s, c):
    squared distances from some cases to some that are near by the same index. ``vector_of``: gives the vector of
    another query, as ``query.embedded``. ``changed``: why the ranking differs from that of the metric as it was
    scored, else empty.
    """

    loaded: LoadedMetric
    search: Search
    query: EmbeddedQuery
    index: AnyIndex
    nearest: Matrix
    vector_of: Callable[[Query], Matrix]
    changed: str = ""
    ordered: MarkedIndex | None = None

    def rank(self, k: int, among: npt.NDArray[np.bool_] | None = None) -> Ranking:
        """The ``k`` nearest, of the cases ``among`` (n,) only."""
        return rank(
            self.index if self.ordered is None else self.ordered,
            self.query,
            k,
            patients=self.loaded.patient_codes if self.search.hide_same_patient else None,
            keys=self.loaded.keys if self.search.group_duplicates else None,
            allowed=among,
        )

    @property
    def by_metric_alone(self) -> bool:
        """Whether the metric compares the cases, as it was scored."""
        return isinstance(self.index, Index | DistanceIndex | CandidateIndex)

    @property
    def candidates(self) -> int | None:
        """The number of candidates that were compared; ``None`` where all cases were."""
        return (
            self.index.candidates if isinstance(self.index, CandidateIndex) and self.ordered is None else None
        )

    def coordinates(self, places: Rows) -> Matrix:
        """(r, m) coordinates whose Euclidean distances are those of the index, or approximate them if it has no
        coordinates."""
        if isinstance(self.index, RefinedIndex):
            return self.index.embedded(places)
        return np.asarray(self.loaded.coordinates(places), dtype=np.float64)

    @property
    def query_coordinates(self) -> Matrix:
        """(m,) the query in the space of :meth:`coordinates`."""
        return self._embedded(self.query.embedded)

    def coordinates_of(self, query: Query) -> Matrix:
        """(m,) another query in the space of :meth:`coordinates`.

        Raises:
            BadInput: no such case, no features for it, or an image that cannot be read.
        """
        return self._embedded(self.vector_of(query))

    def _embedded(self, vector: Matrix) -> Matrix:
        vector = np.asarray(vector, dtype=np.float64)
        if not isinstance(self.index, RefinedIndex):
            return vector
        embedded: Matrix = self.index.form.embed(vector[np.newaxis])[0]
        return embedded


def group_ranking(compared: QueryComparison, count: int) -> Ranking:
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
    other = (loaded.finding_codes >= 0) & (loaded.finding_codes != loaded.code_of(finding))
    near = np.flatnonzero(other[found.rows])[:OTHERS]
    rows, distances = found.rows[near], found.distances[near]
    if len(near) < OTHERS and compared.ordered is None and not isinstance(compared.index, RefinedIndex):
        # A mark must not need a second comparison with all cases; the window ranks two hundred.
        again = compared.rank(OTHERS, among=other)
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
        copies = [one for one in np.flatnonzero(equal).tolist() if one not in (place, query.row)]
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
