"""The result of a search: ranked cases, hidden cases with the reason, and the findings of the similar cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.retrieval.index import CaseRow, Rank
from semblance.core.searches.feedback.judgements import NO_MARKS, QueryMarks
from semblance.core.searches.query import Query

#: The features by which the distance of a :class:`MatchCheck` is measured.
ENCODER, METRIC = "encoder", "metric"
#: Findings contradict each other if the most frequent one has less than this share of the nearest cases, of which at
#: least so many must have a finding.
_CLEAR, _FEWEST_FINDINGS = 2 / 3, 5


@dataclass(frozen=True)
class Vote(JsonDocument):
    """The findings of the nearest cases, and the estimate from them.

    ``voters``: the finding of each of the nearest, nearest first, ``None`` if it has none; ``counts``: the most
    frequent first. ``finding`` has most votes. Its ``probability`` and the 95 % ``interval`` are calibrated on
    ``measured_on``; if both are ``None``, ``why_not`` gives the reason. ``findings``: all findings of the
    calibration. ``trained``: the metric was trained on the finding of the query or of a case of its patient, so its
    order is partly remembered and there is no estimate. ``caution``: if the error of the estimates on the
    ``measured`` cases is significant, its size, otherwise empty. ``library_share``: the share of the finding among the
    library's cases that have one. ``prevalence``: the share of the finding that was set for the library, and that of
    the library; ``None`` where none was set.
    """

    #: The part ``vote`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = (
        ("voters", "n_voters"),
        "counts",
        "calibrated",
        "measured_on",
        "finding",
        "probability",
        "interval",
        "library_share",
        "prevalence",
        ("query_trained_on", "trained"),
        "caution",
        "why_not",
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ("caution", "why_not")

    voters: tuple[str | None, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    finding: str | None = None
    probability: float | None = None
    interval: tuple[float, float] | None = None
    measured_on: str | None = None
    findings: tuple[str, ...] = ()
    trained: bool = False
    why_not: str = ""
    caution: str = ""
    measured: int = 0
    library_share: float | None = None
    prevalence: tuple[float, float] | None = None

    @property
    def n_voters(self) -> int:
        """The number of the nearest cases whose findings were counted."""
        return len(self.voters)

    @property
    def calibrated(self) -> bool:
        """Whether there is an estimate besides the counts."""
        return self.probability is not None

    def without_estimate(self, why_not: str) -> Vote:
        """The counts without an estimate, with the reason."""
        return Vote(
            self.voters, self.counts, next(iter(self.counts), None), trained=self.trained, why_not=why_not
        )


@dataclass(frozen=True)
class MatchCheck(JsonDocument):
    """The mean distance of a query to its 5 nearest cases, and the ``limit`` beyond which there is no close match.

    Both are distances, not squared. ``features``: :data:`ENCODER` (all its numbers, of length 1) or :data:`METRIC`.
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
class RankedCase(JsonDocument):
    """A ranked case; ``row``: its row id in the catalogue.

    ``near_duplicates`` counts its grouped near-duplicates, ``near_duplicate_rows`` are the ids of the first of them,
    with their ``near_duplicate_distances``; ``near_duplicate_findings`` are the findings they have and it has not.
    ``rank`` is 0 for a case outside the ranking. ``near_liked`` and ``near_disliked``: the ids of the liked and of
    the disliked case it is nearest to if marks order the ranking, ``None`` if no other case has such a mark;
    ``nearer_to_liked``: to which of the two it is nearer.
    """

    #: A line of ``results`` and ``other_finding`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "rank",
        "case_id",
        "distance",
        "finding",
        "path",
        "near_duplicates",
        "near_duplicate_findings",
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ("rank",)

    rank: Rank
    row: CaseRow
    case_id: str
    distance: float
    finding: str | None
    patient: str | None
    path: str
    near_duplicates: int = 0
    near_duplicate_rows: tuple[int, ...] = ()
    near_duplicate_distances: tuple[float, ...] = ()
    near_duplicate_findings: tuple[str, ...] = ()
    near_liked: str | None = None
    near_disliked: str | None = None
    nearer_to_liked: bool = False


@dataclass(frozen=True)
class ComparedCandidates(JsonDocument):
    """The ``number`` of candidates that an index on a server found, which alone were compared. ``recall``: the share of
    the 20 nearest cases that are among so many, measured with ``queries`` cases; ``None`` where it was not measured."""

    #: The part ``candidates`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = ("number", ("recall@20", "recall"), ("measured_with", "queries"))

    number: int
    recall: float | None
    queries: int


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
    that were compared, where an index chose them.
    """

    #: The document of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "query",
        "metric",
        ("results", "ranked"),
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
        return found
