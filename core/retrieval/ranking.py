"""Rank cases by their distance to a query, without its own patient, with near-duplicates grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.feedback import MarkedIndex
from semblance.core.retrieval.index import DistanceIndex, Index, Matrix, NearestRows, Position, Rows
from semblance.core.retrieval.place_comparison import CombinedComparison, PlaceComparison
from semblance.core.retrieval.refined_index import RefinedIndex

Mask = npt.NDArray[np.bool_]
#: Number of queries that :func:`rank_many` compares with each row at once, and of candidates for each case to rank.
BATCH, TIMES = 32, 4

AnyIndex = (
    Index | DistanceIndex | CandidateIndex | RefinedIndex | MarkedIndex | PlaceComparison | CombinedComparison
)

#: Number of candidates for each case to rank.
CANDIDATES_PER_CASE = 5


@dataclass(frozen=True, eq=False)
class EmbeddedQuery:
    """A query in the coordinates of an index, and which of the index's cases are of its patient or are copies of it.

    ``embedded`` (m,) and ``tie_break`` (d,) in the form of the index. ``position``: its own if it is a case of the
    library; ``patient`` is ``None`` or "" and ``key`` negative if unknown. For an image from outside,
    ``same_patient`` (p,) are the places of its patient's cases and ``copies`` (c,) those of its near-duplicates.
    """

    embedded: Matrix
    tie_break: Matrix | None = None
    position: Position | None = None
    patient: str | int | None = None
    key: int = -1
    same_patient: Rows | None = None
    copies: Rows | None = None

    def same_patient_cases(self, patients: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """(n,) which cases are of the query's patient; ``patients`` (n,), where ``None`` and "" are unknown."""
        own = np.zeros(len(patients), dtype=np.bool_)
        if self.patient not in (None, ""):
            own |= patients == self.patient
        if self.same_patient is not None:
            own[self.same_patient] = True
        return own

    def copies_among(self, keys: Rows) -> npt.NDArray[np.bool_]:
        """(n,) which cases are near-duplicates of the query; ``keys`` (n,) as :func:`rank` takes them."""
        copies = np.zeros(len(keys), dtype=np.bool_)
        if self.key >= 0:
            copies |= keys == self.key
        if self.copies is not None:
            copies[self.copies] = True
        return copies


@dataclass(frozen=True, eq=False)
class Ranking:
    """``rows`` (k,) in the order of the index, from near to far, with their squared ``distances`` (k,).

    ``duplicate_counts`` (k,) counts the near-duplicates grouped under each row. ``hidden_same_patient`` counts the
    cases of the query's patient that would otherwise be ranked at or before the last one; ``hidden_near_duplicates``
    those grouped, and such copies of the query itself.
    """

    rows: Rows
    distances: Matrix
    duplicate_counts: Rows
    hidden_same_patient: int
    hidden_near_duplicates: int


def rank(
    index: AnyIndex,
    query: EmbeddedQuery,
    k: int = 20,
    *,
    patients: npt.NDArray[Any] | None = None,
    keys: Rows | None = None,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> Ranking:
    """The ``k`` nearest cases to ``query``.

    ``patients`` (n,): cases of the query's patient are never ranked; an unknown patient (``None`` or "") equals no
    other. ``keys`` (n,): cases of one key are near-duplicates and grouped under the nearest, and those with the
    query's own key are left out; a negative number is no key. The query's own row is always left out and not counted.
    ``allowed`` (n,) is the user's filter; what it leaves out is not counted.

    Raises:
        BadInput: lengths that do not fit the index, or a query it cannot take.
    """
    _check_lengths(len(index), patients=patients, keys=keys, filter=allowed)
    mask, own, copies = _masks(len(index), query, patients, keys, allowed)
    rows, distances, duplicate_counts = _nearest_of_each_key(index, query, k, mask, keys)
    hidden = [_count_before(index, query, rows, distances, np.flatnonzero(m)) for m in (own, copies)]
    return Ranking(rows, distances, duplicate_counts, hidden[0], hidden[1] + int(duplicate_counts.sum()))


def rank_many(
    index: Index | DistanceIndex | CandidateIndex,
    queries: Iterable[EmbeddedQuery],
    k: int = 20,
    *,
    patients: npt.NDArray[Any] | None = None,
    keys: Rows | None = None,
) -> Iterator[NearestRows]:
    """The rows and distances of :func:`rank` for each of ``queries``.

    Several queries at once are compared with each row of an :class:`Index`, which takes a fraction of the time.

    Raises:
        BadInput: lengths that do not fit the index, or a query it cannot take.
    """
    n = len(index)
    _check_lengths(n, patients=patients, keys=keys)
    # Usually enough for k cases of different keys.
    several = k if keys is None else TIMES * k
    waiting = iter(queries)
    while block := list(islice(waiting, BATCH)):
        masks = [_masks(n, query, patients, keys, None)[0] for query in block]
        if isinstance(index, Index):
            found = index.search_many(
                [query.embedded for query in block],
                several,
                masks,
                tie_queries=[query.tie_break for query in block],
            )
        else:
            found = [
                index.search(query.embedded, several, mask, tie_query=query.tie_break)
                for query, mask in zip(block, masks, strict=True)
            ]
        for query, mask, hits in zip(block, masks, found, strict=True):
            shown = first_of_each_key(hits.rows, keys)[:k]
            if len(shown) < k and len(hits.rows) == several:
                rows, distances, _ = _nearest_of_each_key(index, query, k, mask, keys)
                yield NearestRows(rows, distances)
            else:
                yield NearestRows(hits.rows[shown], hits.distances[shown])


def _check_lengths(n: int, **columns: npt.NDArray[Any] | None) -> None:
    for name, values in columns.items():
        if values is not None and values.shape != (n,):
            raise BadInput(tr_lazy("The {name} do not fit the index.", name=name))


def rankable_cases(
    n: int, query: EmbeddedQuery, patients: npt.NDArray[Any] | None = None, keys: Rows | None = None
) -> Mask:
    """(n,) the cases that :func:`rank` may rank, near-duplicates of one another among them."""
    return _masks(n, query, patients, keys, None)[0]


def _masks(
    n: int,
    query: EmbeddedQuery,
    patients: npt.NDArray[Any] | None,
    keys: Rows | None,
    allowed: npt.NDArray[np.bool_] | None,
) -> tuple[Mask, Mask, Mask]:
    """(n,) masks: the cases to rank, and of the others those of the query's patient, and copies of the query."""
    mask = np.ones(n, dtype=np.bool_) if allowed is None else allowed.copy()
    if query.position is not None:
        mask[query.position] = False
    own = np.zeros(n, dtype=np.bool_) if patients is None else mask & query.same_patient_cases(patients)
    mask &= ~own
    copies = np.zeros(n, dtype=np.bool_) if keys is None else mask & query.copies_among(keys)
    mask &= ~copies
    return mask, own, copies


def _count_before(
    index: AnyIndex, query: EmbeddedQuery, rows: Rows, distances: Matrix, left_out: Rows
) -> int:
    """How many of ``left_out`` would be ranked at or before the last of ``rows``."""
    if not len(rows):
        return 0
    clear = 0
    if not isinstance(index, MarkedIndex):
        measured = index.distances(query.embedded, left_out)
        clear, left_out = int((measured < distances[-1]).sum()), left_out[measured == distances[-1]]
    if not len(left_out):
        return clear
    among = np.zeros(len(index), dtype=np.bool_)
    among[left_out] = among[rows[-1]] = True
    found = index.search(query.embedded, len(left_out) + 1, among, tie_query=query.tie_break).rows
    return clear + int((found == rows[-1]).argmax())


def _nearest_of_each_key(
    index: AnyIndex, query: EmbeddedQuery, k: int, mask: npt.NDArray[np.bool_], keys: Rows | None
) -> tuple[Rows, Matrix, Rows]:
    """The ``k`` nearest of different keys, and how many more cases each of their keys has."""
    requested = k
    while True:
        hits = index.search(query.embedded, requested, mask, tie_query=query.tie_break)
        if keys is None:
            return hits.rows, hits.distances, np.zeros(len(hits.rows), dtype=np.int64)
        shown = first_of_each_key(hits.rows, keys)[:k]
        if len(shown) == k or len(hits.rows) < requested:
            break
        requested *= 2
    duplicate_counts = np.zeros(len(shown), dtype=np.int64)
    keys_of_shown = keys[hits.rows[shown]]
    keyed = np.flatnonzero(keys_of_shown >= 0)
    if len(keyed):
        shown_keys = keys_of_shown[keyed]
        copies = np.flatnonzero(np.isin(keys, shown_keys))
        # Every shown key occurs, at least for the shown case itself.
        names, counts = np.unique(keys[copies[mask[copies]]], return_counts=True)
        duplicate_counts[keyed] = counts[np.searchsorted(names, shown_keys)] - 1
    return hits.rows[shown], hits.distances[shown], duplicate_counts


def first_of_each_key(rows: Rows, keys: Rows | None) -> Rows:
    """Positions in ``rows`` (r,) of the first of each key, and of all without a key."""
    if keys is None:
        return np.arange(len(rows))
    found = keys[rows]
    first = found < 0
    first[np.unique(found, return_index=True)[1]] = True
    return np.flatnonzero(first)


def diverse_order(distances: Matrix, coordinates: Matrix, k: int, share: float) -> Rows:
    """(min(k, n),) positions of candidates, each the one nearest to the query and farthest from those before.

    ``distances`` (n,) squared, ascending, of candidates with ``coordinates`` (n, m). After Carbonell and
    Goldstein (1998), Eq. 1, with similarity the negative distance (not squared): the next candidate has the
    least (1 - share) d(query) - share min d(chosen). ``share`` 0 keeps the order; the nearest is first.
    """
    n = len(distances)
    k = min(k, n)
    if share <= 0.0 or k < 2:
        return np.arange(k)
    to_query = np.sqrt(np.maximum(distances, 0.0))
    nearest = np.full(n, np.inf)
    chosen = np.zeros(k, dtype=np.int64)
    left = np.ones(n, dtype=np.bool_)
    for place in range(k):
        last = int(chosen[place - 1]) if place else 0
        if place:
            difference = coordinates - coordinates[last]
            np.minimum(nearest, np.sqrt(np.einsum("ij,ij->i", difference, difference)), out=nearest)
            score = (1.0 - share) * to_query - share * nearest
            last = int(np.where(left, score, np.inf).argmin())
        chosen[place] = last
        left[last] = False
    return chosen
