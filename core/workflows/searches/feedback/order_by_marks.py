"""Re-order the ranking of a search by its marked cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.retrieval.feedback import Feedback, FeedbackCases, MarkedIndex
from semblance.core.retrieval.index import Matrix, Rows
from semblance.core.searches.feedback.influence import ranks_of
from semblance.core.searches.feedback.judgements import QueryMarks
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.query_comparison import MeasuredQuery, QueryComparison


@dataclass(frozen=True, eq=False)
class MarkedComparison:
    """A comparison re-ordered by marks; ``marks``: those on cases with features."""

    compared: QueryComparison
    marked_index: MarkedIndex
    marks: QueryMarks
    feedback: Feedback

    def nearest_marks(self, places: Rows) -> list[tuple[str | None, str | None, bool]]:
        """For each of the cases at ``places`` the ids of the liked and of the disliked case that it is nearest to, and
        whether it is nearer to the liked one."""
        loaded = self.compared.loaded
        found = self.feedback.nearest(places)

        # Many cases are near to the same few marks.
        @cache
        def named(place: int) -> str | None:
            return None if place < 0 else loaded.cases.id_of(int(loaded.rows[place]))

        near = zip(found.liked.tolist(), found.disliked.tolist(), found.nearer_to_liked.tolist(), strict=True)
        return [(named(liked), named(disliked), nearer) for liked, disliked, nearer in near]


def order_by_marks(
    compared: QueryComparison, marks: QueryMarks, strength: float = 1.0
) -> MarkedComparison | None:
    """The comparison re-ordered by ``marks``; ``None`` if none of the marked cases has features.

    ``strength`` below 1: the order by the weighted mean of a case's ranks with and without the marks.
    """
    loaded = compared.loaded
    there = replace(
        marks, liked=_with_features(loaded, marks.liked), disliked=_with_features(loaded, marks.disliked)
    )
    if not there:
        return None
    query_point, cases = compared.query_coordinates, _cases(compared)
    liked, disliked = _places(loaded, there.liked), _places(loaded, there.disliked)
    feedback = Feedback(
        cases,
        query_point,
        liked,
        disliked,
        [compared.coordinates_of(image) for image in there.liked_images],
        [compared.coordinates_of(image) for image in there.disliked_images],
    )
    scores, distances = feedback.scores(), cases.base
    if strength < 1.0:
        scores = -(strength * ranks_of(-scores) + (1.0 - strength) * ranks_of(distances))
    index = MarkedIndex(distances, scores)
    return MarkedComparison(replace(compared, ordered=index), index, there, feedback)


def examples_as_marks(compared: QueryComparison) -> tuple[QueryMarks, list[str]]:
    """The examples of a search as marks, and sentences on those that are left out because they cannot be read."""
    search, loaded = compared.search, compared.loaded
    left_out: list[str] = []
    sides: list[tuple[list[str], list[Query]]] = [([], []), ([], [])]
    for (cases, images), examples in zip(sides, (search.like, search.unlike), strict=True):
        for example in dict.fromkeys(examples):
            try:
                compared.vector_of(example)
            except SemblanceError as error:
                left_out.append(tr_lazy("An example is left out: {message}", message=error.message))
                continue
            case = example.case
            if case is not None and example.region is None and _with_features(loaded, [case]):
                cases.append(case)
            else:
                images.append(example)
    (liked, liked_images), (disliked, disliked_images) = sides
    query = search.query.case
    found = QueryMarks(
        tuple(case for case in liked if case != query and case not in disliked),
        tuple(case for case in disliked if case != query),
        tuple(liked_images),
        tuple(disliked_images),
    )
    return found, left_out


def distances_of(compared: QueryComparison) -> Matrix:
    """(n,) squared distances of all cases from the query, as they are before marks count."""
    loaded = compared.loaded
    if compared.by_metric_alone:
        return MeasuredQuery.of(loaded, compared.query).distances
    return compared.index.distances(compared.query.embedded, np.arange(len(loaded.rows)))


def _cases(compared: QueryComparison) -> FeedbackCases:
    if compared.by_metric_alone:
        return MeasuredQuery.of(compared.loaded, compared.query).feedback_cases
    distances = distances_of(compared)
    shape = (len(distances), len(compared.query_coordinates))
    return FeedbackCases(compared.coordinates, shape, distances)


def check_marks(loaded: LoadedMetric, query: Query, marks: QueryMarks) -> None:
    """Raises BadInput naming the marked cases that the library does not have or that have no features, and
    BadArguments for a mark on the query itself or a case marked both ways."""
    cases = [*marks.liked, *marks.disliked]
    if query.case in cases:
        raise BadArguments(
            tr_lazy("The query {case} cannot be marked.", case=query.case), "Mark other cases of its ranking."
        )
    if both := [case for case in marks.liked if case in marks.disliked]:
        raise BadArguments(
            tr_lazy("Marked both as more and as less like the query: {cases}.", cases=", ".join(both)),
            "Mark each case one way.",
        )
    unknown = [case for case in dict.fromkeys(cases) if not _is_known(loaded, case)]
    if unknown:
        raise BadInput(
            tr_lazy_n(
                "There is no case {cases} in the library.",
                "There are no cases {cases} in the library.",
                len(unknown),
                cases=", ".join(unknown),
            ),
            "`semblance info LIB --json` lists the case ids.",
        )
    there = {*_with_features(loaded, cases)}
    if without := [case for case in dict.fromkeys(cases) if case not in there]:
        raise BadInput(
            tr_lazy("No features under this metric: {cases}.", cases=", ".join(without)),
            "Extract them first, or leave these cases out.",
        )


def _is_known(loaded: LoadedMetric, case: str) -> bool:
    try:
        loaded.cases.row_of(case)
    except BadInput:
        return False
    return True


def _with_features(loaded: LoadedMetric, cases: Collection[str]) -> tuple[str, ...]:
    return tuple(
        case
        for case in cases
        if _is_known(loaded, case) and loaded.place_of(loaded.cases.row_of(case)) is not None
    )


def _places(loaded: LoadedMetric, cases: Collection[str]) -> Rows:
    return np.array([loaded.place_of(loaded.cases.row_of(case)) for case in cases], dtype=np.int64)
