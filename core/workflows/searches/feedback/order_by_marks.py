"""Re-order the ranking of a search by its marked cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.retrieval.feedback import Feedback, FeedbackCases, MarkedIndex, standardised
from semblance.core.retrieval.index import Matrix, Position, Rows
from semblance.core.retrieval.place_comparison import CombinedComparison, PlaceComparison
from semblance.core.retrieval.place_index import PlaceQuery
from semblance.core.searches.feedback.judgements import Judgement, QueryMarks, marks_of, outside_image
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.place_search import PlaceSearch, query_places
from semblance.core.workflows.searches.query_comparison import MeasuredQuery, QueryComparison


@dataclass(frozen=True, eq=False)
class MarkedComparison:
    """A comparison re-ordered by ``marks``."""

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
            return None if place < 0 else loaded.cases.id_of(loaded.row_at(Position(place)))

        near = zip(found.liked.tolist(), found.disliked.tolist(), found.nearer_to_liked.tolist(), strict=True)
        return [(named(liked), named(disliked), nearer) for liked, disliked, nearer in near]


def order_by_marks(
    compared: QueryComparison, marks: QueryMarks, strength: float = 1.0
) -> MarkedComparison | None:
    """The comparison re-ordered by ``marks`` (from :func:`usable_marks`); ``None`` without any.

    ``strength`` below 1: the order by the weighted mean of a case's ranks with and without the marks; equal cases have
    the mean of their ranks.
    """
    if not marks:
        return None
    cases, loaded = _cases(compared), compared.loaded
    sides = [
        (
            _places(loaded, marked),
            [_image_coordinates(compared, one) for one in marked if _is_image(loaded, one)],
        )
        for marked in (marks.liked, marks.disliked)
    ]
    (liked, liked_images), (disliked, disliked_images) = sides
    feedback = Feedback(cases, compared.query_coordinates, liked, disliked, liked_images, disliked_images)
    scores, distances = feedback.scores(), cases.base
    if marks.places and compared.by_place is not None:
        scores = _with_marked_places(
            loaded, compared.by_place, marks, scores, cases, np.concatenate([liked, disliked])
        )
        scores[disliked] -= scores.max() - scores.min() + 1.0
    if strength < 1.0:
        # It takes a quarter of a second to import.
        from scipy.stats import rankdata

        scores = -(strength * rankdata(-scores) + (1.0 - strength) * rankdata(distances))
    index = MarkedIndex(distances, scores, compared.tie_distances)
    return MarkedComparison(replace(compared, marked_index=index), index, marks, feedback)


def _with_marked_places(
    loaded: LoadedMetric,
    found: PlaceSearch,
    marks: QueryMarks,
    scores: Matrix,
    cases: FeedbackCases,
    marked: Rows,
) -> Matrix:
    """The ``scores`` (n,) of the marks on cases, to which what the marked places say is added for the nearest cases.

    As J. J. Rocchio, "Relevance feedback in information retrieval", 1971: the similarity to the query, plus the mean
    similarity to the liked places, less that to the disliked ones. Both are standardised.
    """
    pool = np.union1d(cases.nearest, marked)
    pool = pool[found.comparison.with_places[pool]]
    index, rows = found.stored.index, found.comparison.index_rows(pool)
    similar = -index.nearly_exact_distances(found.query.compared, rows)
    for named, sign in ((marks.liked, -1.0), (marks.disliked, 1.0)):
        queries = [_marked_place(loaded, found, marks, case) for case in named if case in marks.places]
        if queries:
            distances = [index.nearly_exact_distances(query, rows) for query in queries]
            similar = similar + sign * np.mean(distances, axis=0)
    out = scores.copy()
    by_both = standardised(scores[pool]) + standardised(similar)
    # All others stay behind these.
    out[pool] = scores.max() + 1.0 + by_both - by_both.min()
    return out


def _marked_place(loaded: LoadedMetric, found: PlaceSearch, marks: QueryMarks, case: str) -> PlaceQuery:
    """The places of the region of ``case`` that is marked.

    Raises:
        BadInput: it is damaged, or lies outside the image.
    """
    region = Region.from_json(dict(marks.places[case]))
    return query_places(loaded, found.stored, Query(case=case, region=region)).compared


def usable_marks(
    compared: QueryComparison, judgements: Iterable[Judgement]
) -> tuple[QueryMarks, tuple[str, ...]]:
    """The marks among ``judgements`` on cases with features and on images that can be read, and sentences on the
    images that cannot."""
    loaded, marks, left_out = compared.loaded, marks_of(judgements, compared.search.query), []
    unusable = []
    for case in (*marks.liked, *marks.disliked):
        if _is_image(loaded, case):
            try:
                _image_coordinates(compared, case)
            except SemblanceError as error:
                left_out.append(tr_lazy("A mark is left out: {message}", message=error.message))
                unusable.append(case)
        elif not _with_features(loaded, [case]):
            unusable.append(case)
    marks = marks.without(unusable)
    if compared.by_place is not None:
        places = dict(marks.places)
        for case in marks.places:
            try:
                _marked_place(loaded, compared.by_place, marks, case)
            except SemblanceError as error:
                left_out.append(tr_lazy("The place of a mark is left out: {message}", message=error.message))
                del places[case]
        marks = replace(marks, places=places)
    return marks, tuple(left_out)


def _is_image(loaded: LoadedMetric, case: str) -> bool:
    return outside_image(case) is not None and not _is_known(loaded, case)


def _image_coordinates(compared: QueryComparison, case: str) -> Matrix:
    return compared.coordinates_of(Query(image=Path(case)))


def distances_of(compared: QueryComparison) -> Matrix:
    """(n,) squared distances of all cases from the query, as they are before marks count."""
    loaded = compared.loaded
    if compared.by_metric_alone:
        return MeasuredQuery.of(loaded, compared.query).distances
    if isinstance(compared.index, PlaceComparison | CombinedComparison):
        return compared.index.all_distances()
    return compared.index.distances(compared.query.embedded, np.arange(len(loaded.rows)))


def _cases(compared: QueryComparison) -> FeedbackCases:
    if compared.by_metric_alone:
        return MeasuredQuery.of(compared.loaded, compared.query).feedback_cases
    known = compared.loaded.cache.get(_PlaceCases)
    if known is not None and known.index is compared.index:
        return known.cases
    distances = distances_of(compared)
    shape = (len(distances), len(compared.query_coordinates))
    cases = FeedbackCases(compared.coordinates, shape, distances)
    if compared.by_place is not None:
        compared.loaded.cache.keep(_PlaceCases(compared.index, cases))
    return cases


@dataclass(frozen=True, eq=False)
class _PlaceCases:
    """What the orders by marks of the last search by place, with ``index``, have in common."""

    index: object
    cases: FeedbackCases

    @property
    def nbytes(self) -> int:
        return self.cases.nbytes


def check_given_marks(loaded: LoadedMetric, search: Search) -> None:
    """Check the marks that a person gave with ``search``.

    Raises BadInput naming the marked cases that the library does not have or that have no features, and
    BadArguments for a mark on the query itself or a case marked both ways."""
    query, cases = search.query, [*search.like, *search.unlike]
    if query.case in cases:
        raise BadArguments(
            tr_lazy("The query {case} cannot be marked.", case=query.case), "Mark other cases of its ranking."
        )
    if both := [case for case in search.like if case in search.unlike]:
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
        if _is_known(loaded, case) and loaded.position_of(loaded.cases.row_of(case)) is not None
    )


def _places(loaded: LoadedMetric, cases: Collection[str]) -> Rows:
    """(r,) places of those of ``cases`` that are cases of the library."""
    places = [loaded.position_of(loaded.cases.row_of(case)) for case in cases if not _is_image(loaded, case)]
    return np.array(places, dtype=np.int64)
