"""A search: a query, a metric, and all options of the ranking."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.searches.query import Query

#: The share of a library's own cases that would have no close match.
NO_MATCH_RATE = 0.01
#: What a query is compared by: its places with the places of whole images, the whole images by the metric, or both.
#: "" is by place where the query has a region and the library has places, else whole.
PLACE, WHOLE, BOTH = "place", "whole", "both"
MATCHES = ("", PLACE, WHOLE, BOTH)


@dataclass(frozen=True)
class Search(JsonDocument):
    """Everything that determines a ranking.

    ``ledger``: the name of the ledger; searches with the same ledger share their judgements. ``strength``: 0 is
    the metric without judgements, 1 uses them as much as their number allows. ``without``: feature groups left
    out. ``like`` and ``unlike``: cases marked as more and as less like the query that are in no ledger, as a command
    names them (:attr:`semblance.core.searches.feedback.judgements.Judgement.case`). ``concepts``: (name, amount from
    -1 to 1). ``diverse``: 0 ranks by distance alone, 1 prefers cases unlike those ranked before. ``no_match_rate``: the
    share of the library's own cases that would have no close match. ``without_patient``: where the metric was trained
    on the query or its patient, rank by the same metric trained again without them. ``candidates``: in a library whose
    server has an index of the metric, the number of candidates to compare; 0 compares all cases, ``None`` as many as
    reached the required recall. ``refined``: whether judgements on other queries refine the metric; those on this query
    count always. ``match``: what is compared (:data:`MATCHES`). ``text``: words that cases
    are found by too, whose ranks are fused with those of the query.
    """

    JSON_KEYS: ClassVar[JsonKeys] = (
        "metric",
        "query",
        "ledger",
        "strength",
        "without",
        "like",
        "unlike",
        "concepts",
        "hide_same_patient",
        ("fold_duplicates", "group_duplicates"),
        "diverse",
        ("unusual", "no_match_rate"),
        "without_patient",
        "candidates",
        "refined",
        "match",
        "text",
        "notes",
        "in_report",
        "measured",
    )

    metric: str
    query: Query
    ledger: str = ""
    strength: float = 1.0
    without: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    concepts: tuple[tuple[str, float], ...] = ()
    hide_same_patient: bool = True
    group_duplicates: bool = True
    diverse: float = 0.0
    no_match_rate: float = NO_MATCH_RATE
    without_patient: bool = False
    candidates: int | None = None
    refined: bool = True
    match: str = ""
    text: str = ""
    #: For the report, without effect on the ranking: (case, what the user noted on it), and the cases to show there.
    notes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    in_report: tuple[str, ...] = field(default=(), compare=False)
    #: What is measured on a query from outside the library
    #: (:func:`semblance.core.imaging.measurements.figures_to_json`).
    measured: tuple[dict[str, Any], ...] = field(default=(), compare=False)

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Search:
        marked = {key: _marked(data[key]) for key in ("like", "unlike") if key in data}
        found = super()._read({**data, **marked})
        if "match" not in data and found.query.region is not None:
            # Searches saved before there were places compared regions as a whole.
            return replace(found, match=WHOLE)
        return found

    @property
    def is_shifted(self) -> bool:
        """Whether concepts shift the query."""
        return any(amount for _, amount in self.concepts)


def _marked(cases: Any) -> list[Any]:
    """Marked cases by name. The version before this one stored queries; a region of an image cannot be marked."""
    wholes = (one for one in cases if not (isinstance(one, dict) and one.get("region")))
    return [one.get("case_id") or one["image"] if isinstance(one, dict) else one for one in wholes]


def new_ledger() -> str:
    """A new, unique name of a ledger."""
    return secrets.token_hex(8)
