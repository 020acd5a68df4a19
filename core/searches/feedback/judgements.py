"""Judgements of a user on how similar cases are to a query. Those on the query of a search are its marks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from semblance.core.errors import BadInput
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy
from semblance.core.library.records import JudgementRecord
from semblance.core.searches.query import Query

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region
    from semblance.core.searches.search import Search


#: Where the region of the query is stored, that of the marked case is stored beside it.
_CASE_PLACE = "case_place"


class JudgementKind(StrEnum):
    """The kinds of judgement."""

    ALIKE = "alike"
    NOT_ALIKE = "not alike"
    CLOSER = "closer"


def query_key(query: str, region: Mapping[str, Any] | None) -> str:
    """The query as a key; see :attr:`Judgement.query_key`."""
    if region is None:
        return query
    text = json.dumps(dict(region), sort_keys=True)
    return f"{query}#{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


@dataclass(frozen=True)
class Judgement:
    """``case`` is (not) like ``query``, or it is closer to ``query`` than ``other`` is.

    ``query`` and ``case`` are case ids, or paths of images outside the library (:func:`outside_image`); ``region``
    (JSON) is the part of the query that was searched with. ``shown``: the cases on screen at that time, with which a
    single judgement is compared. ``time`` is ISO 8601 in UTC. ``place`` (JSON): the region of ``case`` that
    a mark is on; a search by place counts the place, any other one the case.

    Raises:
        BadInput: a case judged against itself, or not the cases its kind needs.
    """

    kind: JudgementKind
    query: str
    case: str
    other: str | None = None
    region: Mapping[str, Any] | None = None
    shown: tuple[str, ...] = ()
    author: str = ""
    time: str = ""
    place: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.other is not None) != (self.kind == JudgementKind.CLOSER):
            raise BadInput(
                "'Closer' compares two cases with the query, a mark judges one.", "Choose the cases again."
            )
        for case in (self.case, self.other):
            if case == self.query:
                raise BadInput(
                    tr_lazy("{case} cannot be marked against itself.", case=case), "Mark another case."
                )
        if self.case == self.other:
            raise BadInput(
                tr_lazy("{case} cannot be closer than itself.", case=self.case), "Choose two different cases."
            )

    @property
    def query_key(self) -> str:
        """The query as a key: equal for the same region of the same case or image."""
        return query_key(self.query, self.region)

    @property
    def statement(self) -> tuple[str, str, str, str]:
        """Equal for judgements with the same content, whatever their author and time."""
        place = "" if self.place is None else query_key("", self.place)
        return self.kind.value, self.query_key, self.case, self.other or place

    def cases(self) -> tuple[str, ...]:
        """The query and the cases it is about; a query from outside the library is its path."""
        return (self.query, self.case) if self.other is None else (self.query, self.case, self.other)

    def to_record(self) -> JudgementRecord:
        """The judgement as it is stored in the catalogue."""
        region = None if self.region is None else dict(self.region)
        if self.place is not None:
            region = {**(region or {}), _CASE_PLACE: dict(self.place)}
        return JudgementRecord(
            self.kind.value, self.query, self.case, self.other, region, self.shown, self.author, self.time
        )

    @classmethod
    def from_record(cls, record: JudgementRecord) -> Judgement:
        """The judgement of a record of the catalogue.

        Raises:
            BadInput: a kind that this version does not know.
        """
        try:
            kind = JudgementKind(record.kind)
        except ValueError:
            raise BadInput(
                tr_lazy("The library holds a mark of the unknown kind '{kind}'.", kind=record.kind),
                "Update Semblance to use it.",
            ) from None
        region = dict(record.region or {})
        place = region.pop(_CASE_PLACE, None)
        return cls(
            kind,
            record.query,
            record.case,
            record.other,
            region or None,
            record.shown,
            record.author,
            record.time,
            place if isinstance(place, dict) else None,
        )


@dataclass(frozen=True)
class QueryMarks(JsonDocument):
    """The ``liked`` and the ``disliked`` cases as :attr:`Judgement.case` names them, in the order they were marked.

    None is in both. ``places`` (JSON): by case, the regions that marks are on.
    """

    #: The part ``feedback`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = ("liked", "disliked")

    liked: tuple[str, ...] = ()
    disliked: tuple[str, ...] = ()
    places: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def without(self, cases: Collection[str]) -> QueryMarks:
        """The marks on other cases than these."""
        liked, disliked = (
            [one for one in marked if one not in cases] for marked in (self.liked, self.disliked)
        )
        places = {case: place for case, place in self.places.items() if case not in cases}
        return replace(self, liked=tuple(liked), disliked=tuple(disliked), places=places)

    def __len__(self) -> int:
        return len(self.liked) + len(self.disliked)


NO_MARKS = QueryMarks()


def outside_image(case: str) -> Path | None:
    """The image that :attr:`Judgement.case` names if it is no case: one from outside is named by its absolute path."""
    path = Path(case)
    return path if path.is_absolute() else None


def likeness_judgement(
    search: Search, case: str, positive: bool, shown: Sequence[str] = (), place: Region | None = None
) -> Judgement:
    """The judgement that ``case`` is, or is not, like the query of the search; ``shown``: the cases on screen.

    ``place``: the region of ``case`` that is meant, such as
    :attr:`semblance.core.searches.similar_cases.MatchedPlace.region`; without it the whole case. The judgement is saved
    by :func:`semblance.core.workflows.searches.feedback.refine_metric.add_judgements`.

    Raises:
        BadInput: the case is the query.
    """
    kind = JudgementKind.ALIKE if positive else JudgementKind.NOT_ALIKE
    return Judgement(
        kind,
        *_named(search.query, case),
        region=_json(search.query.region),
        shown=tuple(shown),
        place=_json(place),
    )


def comparison_judgement(search: Search, case: str, other: str) -> Judgement:
    """The judgement that ``case`` is closer to the query of the search than ``other``.

    Raises:
        BadInput: two of the three cases are the same.
    """
    return Judgement(JudgementKind.CLOSER, *_named(search.query, case), other, _json(search.query.region))


def _named(query: Query, case: str) -> tuple[str, str]:
    return query.key, case


def _json(region: Region | None) -> dict[str, Any] | None:
    return None if region is None else region.to_json()


def given_marks(search: Search) -> list[Judgement]:
    """The marks that came with ``search`` and are in no ledger, as judgements; none on the query itself."""
    return [
        likeness_judgement(search, case, positive)
        for cases, positive in ((search.like, True), (search.unlike, False))
        for case in cases
        if case != _named(search.query, case)[0]
    ]


def key_of_query(query: Query) -> str:
    """The :attr:`semblance.core.searches.feedback.judgements.Judgement.query_key` of judgements about ``query``."""
    region = None if query.region is None else query.region.to_json()
    return query_key(query.key, region)


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
    places: dict[str, Mapping[str, Any]] = {}
    for one in judgements:
        if one.kind != JudgementKind.CLOSER:
            liked_by_case.pop(one.case, None)
            liked_by_case[one.case] = one.kind == JudgementKind.ALIKE
            places.pop(one.case, None)
            if one.place is not None:
                places[one.case] = one.place
    return QueryMarks(_cases_with(liked_by_case, True), _cases_with(liked_by_case, False), places)


def _cases_with(liked_by_case: dict[str, bool], liked: bool) -> tuple[str, ...]:
    return tuple(case for case, how in liked_by_case.items() if how == liked)
