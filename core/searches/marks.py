"""The marks "more like this" and "less like this" of one search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from semblance.core.searches.judgement import Judgement, JudgementKind, query_key
from semblance.core.searches.query import Query


@dataclass(frozen=True)
class QueryMarks:
    """Ids of the ``liked`` and of the ``disliked`` cases, in the order they were marked; none is in both.

    ``liked_images`` and ``disliked_images``: examples that are not whole cases.
    """

    liked: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    liked_images: tuple[Query, ...] = ()
    disliked_images: tuple[Query, ...] = ()

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


def is_mark(judgement: Judgement, query: Query) -> bool:
    """Whether a judgement is a mark on ``query``, which re-orders its search; other judgements refine the metric."""
    return judgement.kind != JudgementKind.CLOSER and judgement.query_key == key_of_query(query)


def marks_of(judgements: Iterable[Judgement], query: Query) -> QueryMarks:
    """The marks for ``query`` among the ``judgements``; of two of one case the later counts."""
    liked_by_case: dict[str, bool] = {}
    for one in judgements:
        if is_mark(one, query):
            liked_by_case.pop(one.case, None)
            liked_by_case[one.case] = one.kind == JudgementKind.ALIKE
    return QueryMarks(_cases_with(liked_by_case, True), _cases_with(liked_by_case, False))


def _cases_with(liked_by_case: dict[str, bool], liked: bool) -> tuple[str, ...]:
    return tuple(case for case, how in liked_by_case.items() if how == liked)
