"""The marks "more like this" and "less like this" of one search."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from semblance.core.searches.judgement import Judgement, JudgementKind, query_key
from semblance.core.searches.query import Query

if TYPE_CHECKING:
    from semblance.core.searches.search import Search


@dataclass(frozen=True)
class QueryMarks:
    """Ids of the ``liked`` and of the ``disliked`` cases, in the order they were marked; none is in both.

    ``liked_images`` and ``disliked_images``: examples that are not whole cases.
    """

    liked: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    liked_images: tuple[Query, ...] = ()
    disliked_images: tuple[Query, ...] = ()

    def without(self, cases: Collection[str]) -> QueryMarks:
        """The marks on other cases than these."""
        liked, disliked = (
            [one for one in marked if one not in cases] for marked in (self.liked, self.disliked)
        )
        return replace(self, liked=tuple(liked), disliked=tuple(disliked))

    @property
    def n_liked(self) -> int:
        """Number of marks *more like this*."""
        return len(self.liked) + len(self.liked_images)

    @property
    def n_disliked(self) -> int:
        """Number of marks *less like this*."""
        return len(self.disliked) + len(self.disliked_images)

    def __len__(self) -> int:
        return self.n_liked + self.n_disliked

    def followed_by(self, later: QueryMarks) -> QueryMarks:
        """Both together; of two marks of one case the later counts."""
        liked_by_case = dict.fromkeys(self.liked, True) | dict.fromkeys(self.disliked, False)
        for cases, liked in ((later.liked, True), (later.disliked, False)):
            for case in cases:
                liked_by_case.pop(case, None)
                liked_by_case[case] = liked
        return QueryMarks(
            _cases_with(liked_by_case, True),
            _cases_with(liked_by_case, False),
            (*self.liked_images, *later.liked_images),
            (*self.disliked_images, *later.disliked_images),
        )

    def to_json(self) -> dict[str, Any]:
        """The part ``feedback`` of ``semblance search --json``."""
        return {"liked": list(self.liked), "disliked": list(self.disliked)}


NO_MARKS = QueryMarks()


def key_of_query(query: Query) -> str:
    """The :attr:`semblance.core.searches.judgement.Judgement.query_key` of judgements about ``query``."""
    region = None if query.region is None else query.region.to_json()
    return query_key(query.case if query.case is not None else str(query.image), region)


def is_about(judgement: Judgement, query: Query) -> bool:
    """Whether a judgement was made on ``query``, not on another one or another region of its image."""
    return judgement.query_key == key_of_query(query)


def is_mark(judgement: Judgement, query: Query) -> bool:
    """Whether a judgement is a mark on ``query``, which re-orders its search."""
    return judgement.kind != JudgementKind.CLOSER and is_about(judgement, query)


def refines(judgement: Judgement, search: Search) -> bool:
    """Whether a judgement refines the metric of ``search``: a comparison on its query and, if the search is refined,
    all that was judged on other queries."""
    if is_mark(judgement, search.query):
        return False
    return search.refined or is_about(judgement, search.query)


def counts_in(judgement: Judgement, search: Search) -> bool:
    """Whether a judgement changes the ranking of ``search``, as a mark or by refining the metric."""
    return is_mark(judgement, search.query) or refines(judgement, search)


def marks_set_aside(judgements: Iterable[Judgement], query: Query) -> QueryMarks:
    """The marks on the same image as a whole or on other regions of it, which do not order the search of ``query``."""
    key, image = key_of_query(query), key_of_query(replace(query, region=None))
    return _marks(one for one in judgements if one.query == image and one.query_key != key)


def marks_of(judgements: Iterable[Judgement], query: Query) -> QueryMarks:
    """The marks for ``query`` among the ``judgements``; of two of one case the later counts."""
    return _marks(one for one in judgements if is_mark(one, query))


def _marks(judgements: Iterable[Judgement]) -> QueryMarks:
    """The marks among ``judgements``, whatever their query; of two of one case the later counts."""
    liked_by_case: dict[str, bool] = {}
    for one in judgements:
        if one.kind != JudgementKind.CLOSER:
            liked_by_case.pop(one.case, None)
            liked_by_case[one.case] = one.kind == JudgementKind.ALIKE
    return QueryMarks(_cases_with(liked_by_case, True), _cases_with(liked_by_case, False))


def _cases_with(liked_by_case: dict[str, bool], liked: bool) -> tuple[str, ...]:
    return tuple(case for case, how in liked_by_case.items() if how == liked)
