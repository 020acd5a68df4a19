"""What a search answers: ranked cases, what was hidden and why, and what the similar cases turned out to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from semblance.core.searches.query import Query
from semblance.core.workflows.searches.estimate import Vote


@dataclass(frozen=True)
class RankedCase:
    """One line of a ranking; ``row`` is the case's row id in the catalogue.

    ``alike`` counts its folded near-duplicates, ``alike_rows`` are the ids of the first of them, with their
    ``alike_distances``. ``rank`` is 0 for a case that stands beyond the ranking.
    """

    rank: int
    row: int
    case_id: str
    distance: float
    finding: str | None
    patient: str | None
    path: str
    alike: int = 0
    alike_rows: tuple[int, ...] = ()
    alike_distances: tuple[float, ...] = ()


@dataclass(frozen=True)
class SearchResult:
    """A ranking with what was hidden, and the findings of the nearest (CONTRACT.md, "search").

    ``compared`` are the cases with the metric's features but for the query, ``cases`` all of the library: while
    it is being measured these are more. ``others``: the nearest cases with another finding than most of the
    nearest have. ``warnings`` say what about the query makes the ranking doubtful.
    """

    query: Query
    metric: str
    ranked: tuple[RankedCase, ...]
    compared: int
    same_patient: int
    near_duplicates: int
    counts: dict[str, int]
    no_good_match: bool
    usual_distance: float | None
    seconds: dict[str, float] = field(default_factory=dict)
    vote: Vote = field(default_factory=Vote)
    others: tuple[RankedCase, ...] = ()
    warnings: tuple[str, ...] = ()
    cases: int = 0

    def to_json(self) -> dict[str, Any]:
        """The document of ``semblance search --json``."""
        return {
            "query": self.query.to_json(),
            "metric": self.metric,
            "results": [_case_json(case) for case in self.ranked],
            "compared": self.compared,
            "cases": self.cases,
            "hidden": {"same_patient": self.same_patient, "near_duplicates": self.near_duplicates},
            "vote": {**self.vote.to_json(), "counts": self.counts},
            "no_good_match": self.no_good_match,
            "usual_distance": self.usual_distance,
            "other_finding": [_case_json(case) for case in self.others],
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }


def _case_json(case: RankedCase) -> dict[str, Any]:
    return {
        "rank": case.rank or None,
        "case_id": case.case_id,
        "distance": case.distance,
        "finding": case.finding,
        "path": case.path,
        "near_duplicates": case.alike,
    }
