"""The result of a search: ranked cases, hidden cases with the reason, and the findings of the similar cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.library.text_query import TextHit
from semblance.core.searches.feedback.judgements import NO_MARKS, QueryMarks
from semblance.core.searches.query import Query
from semblance.core.searches.search import WHOLE
from semblance.core.searches.similar_cases import RankedCase, Vote

#: The features by which the distance of a :class:`MatchCheck` is measured.
ENCODER, METRIC, PLACES = "encoder", "metric", "places"
#: Findings contradict each other if the most frequent one has less than this share of the nearest cases, of which at
#: least so many must have a finding.
_CLEAR, _FEWEST_FINDINGS = 2 / 3, 5


@dataclass(frozen=True)
class MatchCheck(JsonDocument):
    """The mean distance of a query to its 5 nearest cases, and the ``limit`` beyond which there is no close match.

    Both are distances, not squared. ``features``: :data:`ENCODER` (all its numbers, of length 1), :data:`METRIC`, or
    :data:`PLACES` for a region compared by place.
    """

    #: The part ``match`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = ("features", "distance", "limit")

    features: str
    distance: float
    limit: float

    @property
    def is_far(self) -> bool:
        """Whether there is no close match."""
        return self.distance > self.limit


def findings_contradict(counts: Mapping[str, int]) -> bool:
    """Whether the nearest cases, counted by finding, agree too little: no finding has two thirds of them."""
    total = sum(counts.values())
    return total >= _FEWEST_FINDINGS and max(counts.values()) < _CLEAR * total


@dataclass(frozen=True)
class ComparedCandidates(JsonDocument):
    """The ``number`` of candidates that an index found, which alone were compared. ``recall``: the share of the 20
    nearest cases that are among so many, measured with ``queries`` cases, or regions of cases for a search by place;
    ``None`` where it was not measured."""

    #: The part ``candidates`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = ("number", ("recall@20", "recall"), ("measured_with", "queries"))

    number: int
    recall: float | None
    queries: int


@dataclass(frozen=True)
class TextOrder(JsonDocument):
    """The ``text`` that was searched for beside the query, the number of cases ``found`` with it, and the constant
    ``k`` of :func:`semblance.core.workflows.searches.order_by_text.fused_scores`. ``hits``: row -> where a ranked case
    has it."""

    #: The part ``text_order`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = ("text", "found", "k")

    text: str
    found: int
    k: int
    hits: Mapping[int, TextHit] = field(default_factory=dict)


@dataclass(frozen=True)
class SearchResult(JsonDocument):
    """A ranking with what was hidden, and the findings of the nearest (CONTRACT.md, "search").

    ``compared``: the number of cases with the metric's features, without the query; ``cases``: of all cases of the
    library except the sealed ones, which are more while the library is being measured. ``others``: the nearest cases
    with another finding than most of the nearest have. ``warnings``: texts on the query that make the ranking
    doubtful. ``marks`` re-ordered the ranking: distances stay those of the metric, and ``counts`` and ``vote`` are
    those of the ranking without marks, because marks may follow the findings that the user sees and would then only
    confirm the user's opinion. ``match``: the distance of the query from its nearest cases, ``None`` if it was not
    requested or there are too few cases. ``without_patient``: ranked by the metric trained again without the query's
    patient. ``sealed``: the number of cases in the sealed test vault, which are never ranked. ``candidates``: the cases
    that were compared, where an index chose them. ``compared_by``: by place, as a whole by the metric, or by both.
    """

    #: The document of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "query",
        "metric",
        ("results", "ranked"),
        "compared_by",
        ("text_order", "text"),
        "compared",
        "cases",
        ("hidden", ("same_patient", "near_duplicates")),
        "vote",
        ("no_good_match", "no_close_match"),
        ("unclear", "is_unclear"),
        "match",
        ("other_finding", "others"),
        "warnings",
        ("feedback", "marks"),
        "without_patient",
        "sealed",
        "candidates",
        "seconds",
    )

    query: Query
    metric: str
    ranked: tuple[RankedCase, ...]
    compared: int
    same_patient: int
    near_duplicates: int
    counts: dict[str, int]
    no_close_match: bool
    match: MatchCheck | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    vote: Vote = field(default_factory=Vote)
    others: tuple[RankedCase, ...] = ()
    warnings: tuple[str, ...] = ()
    cases: int = 0
    marks: QueryMarks = NO_MARKS
    without_patient: bool = False
    sealed: int = 0
    candidates: ComparedCandidates | None = None
    compared_by: str = WHOLE
    text: TextOrder | None = None

    @property
    def is_unclear(self) -> bool:
        """Whether there are similar cases whose findings contradict each other."""
        return not self.no_close_match and findings_contradict(self.counts)

    def to_json(self) -> dict[str, Any]:
        """The document; with marks each line names the marked cases that it is nearest to."""
        found = super().to_json()
        found["vote"]["counts"] = self.counts
        if self.marks:
            for case, line in zip(self.ranked, found["results"], strict=True):
                line |= {"near_liked": case.near_liked, "near_disliked": case.near_disliked}
        if self.text is None:
            del found["text_order"]
            return found
        for case, line in zip(self.ranked, found["results"], strict=True):
            hit = self.text.hits.get(case.row)
            line["text_hit"] = None if hit is None else hit.to_json()
        return found
