"""The distances of one query to all cases of a loaded metric, cached until the query changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from semblance.core.retrieval.feedback import FeedbackCases
from semblance.core.retrieval.index import Matrix, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery, Ranking, first_of_each_key, ranked_cases
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.grouped_ranking import QueryComparison, group_ranking
from semblance.core.workflows.searches.loaded_metric import LoadedMetric

_CACHE_KEY = "measured query"


class MeasuredQuery:
    """``distances`` (n,) of all cases from ``query`` under the metric alone, and their ranks."""

    def __init__(self, loaded: LoadedMetric, query: EmbeddedQuery) -> None:
        self._loaded, self.query = loaded, query
        self._rows = np.arange(len(loaded.rows))
        self.distances: Matrix = loaded.index.distances(query.embedded, self._rows)
        self._rankings: dict[tuple[bool, ...], Ranking] = {}
        self._all_ranks: dict[tuple[bool, bool], Rows] = {}

    @classmethod
    def of(cls, loaded: LoadedMetric, query: EmbeddedQuery) -> MeasuredQuery:
        """The cached one, or a new one for another query."""
        cached = loaded.cache.get(_CACHE_KEY)
        if isinstance(cached, cls) and _is_same(cached.query, query):
            return cached
        created = loaded.cache[_CACHE_KEY] = cls(loaded, query)
        return created

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with the library."""
        cases = self.__dict__.get("feedback_cases")
        return 2 * self.distances.nbytes + (0 if cases is None else cases.nbytes)

    @cached_property
    def feedback_cases(self) -> FeedbackCases:
        """What all orders by marks on this query have in common."""
        shape = (len(self.distances), len(self.query.embedded))
        return FeedbackCases(self._loaded.coordinates, shape, self.distances)

    def ranking(self, compared: QueryComparison, count: int) -> Ranking:
        """The first ``count`` cases of ``compared``, which compares this query by the metric alone; the same with and
        without marks."""
        search = compared.search
        key = (search.hide_same_patient, search.group_duplicates, search.diverse > 0.0)
        if key not in self._rankings:
            self._rankings[key] = group_ranking(compared, count)
        return self._rankings[key]

    def shifts(self, search: Search, places: Sequence[int]) -> tuple[int, ...]:
        """By how many ranks each case of the present order moved forward from its rank under the metric.

        Ranks are counted among what ``search`` shows: without the query's own patient where it is hidden, and a group
        of near-duplicates as one case.
        """
        before = self._ranks(search.hide_same_patient, search.group_duplicates)[list(places)].tolist()
        return tuple(was - now for now, was in enumerate(before))

    def _ranks(self, hide_same_patient: bool, group_duplicates: bool) -> Rows:
        """(n,) the rank of every case that can be shown, from 0; equal ones as the index has them. Cases of a group
        have the rank of their nearest."""
        key = (hide_same_patient, group_duplicates)
        if key in self._all_ranks:
            return self._all_ranks[key]
        loaded, query = self._loaded, self.query
        if loaded.ties is not None and query.tie_break is not None:
            apart = loaded.ties - query.tie_break
            order = np.lexsort((self._rows, np.einsum("ij,ij->i", apart, apart), self.distances))
        else:
            order = np.argsort(self.distances, kind="stable")
        patients, keys = loaded.patient_codes, loaded.keys
        shown = ranked_cases(
            len(order), query, patients if hide_same_patient else None, keys if group_duplicates else None
        )
        order = order[shown[order]]
        first = first_of_each_key(order, keys if group_duplicates else None)
        ranks = np.zeros(len(shown), dtype=np.int64)
        ranks[order[first]] = np.arange(len(first))
        if group_duplicates:
            grouped = order[keys[order] >= 0]
            _, nearest, group = np.unique(keys[grouped], return_index=True, return_inverse=True)
            ranks[grouped] = ranks[grouped[nearest]][group]
        self._all_ranks[key] = ranks
        return ranks


def _is_same(one: EmbeddedQuery, other: EmbeddedQuery) -> bool:
    """Whether both are the same query of the same patient."""
    arrays = ("embedded", "same_patient", "copies")
    same = all(np.array_equal(_rows(getattr(one, name)), _rows(getattr(other, name))) for name in arrays)
    return same and (one.row, one.patient, one.key) == (other.row, other.patient, other.key)


def _rows(values: Matrix | Rows | None) -> Matrix | Rows:
    return np.empty(0) if values is None else values
