"""A search: a query, a metric, and all options of the ranking."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from semblance.core.searches.query import Query

#: The share of a library's own cases that would have no close match.
NO_MATCH_RATE = 0.01


@dataclass(frozen=True)
class Search:
    """Everything that determines a ranking.

    ``ledger``: the name of the ledger; searches with the same ledger share their judgements. ``strength``: 0 is
    the metric without judgements, 1 uses them as much as their number allows. ``without``: feature groups left
    out. ``like`` and ``unlike``: positive and negative examples, which count as marks. ``concepts``: (name, amount from
    -1 to 1). ``diverse``: 0 ranks by distance alone, 1 prefers cases unlike those ranked before. ``no_match_rate``: the
    share of the library's own cases that would have no close match. ``without_patient``: where the metric was trained
    on the query or its patient, rank by the same metric trained again without them. ``candidates``: in a library whose
    server has an index of the metric, the number of candidates to compare; 0 compares all cases, ``None`` as many as
    reached the required recall. ``refined``: whether judgements on other queries refine the metric; those on this query
    count always.
    """

    metric: str
    query: Query
    ledger: str = ""
    strength: float = 1.0
    without: tuple[str, ...] = ()
    like: tuple[Query, ...] = ()
    unlike: tuple[Query, ...] = ()
    concepts: tuple[tuple[str, float], ...] = ()
    hide_same_patient: bool = True
    group_duplicates: bool = True
    diverse: float = 0.0
    no_match_rate: float = NO_MATCH_RATE
    without_patient: bool = False
    candidates: int | None = None
    refined: bool = True
    #: For the report, without effect on the ranking: (case, what the user noted on it), and the cases to show there.
    notes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    in_report: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_shifted(self) -> bool:
        """Whether concepts shift the query."""
        return any(amount for _, amount in self.concepts)

    def to_json(self) -> dict[str, Any]:
        """The search as it is saved."""
        return {
            "metric": self.metric,
            "query": self.query.to_json(),
            "ledger": self.ledger,
            "strength": self.strength,
            "without": list(self.without),
            "like": [query.to_json() for query in self.like],
            "unlike": [query.to_json() for query in self.unlike],
            "concepts": [[name, amount] for name, amount in self.concepts],
            "hide_same_patient": self.hide_same_patient,
            "fold_duplicates": self.group_duplicates,
            "diverse": self.diverse,
            "unusual": self.no_match_rate,
            "without_patient": self.without_patient,
            "candidates": self.candidates,
            "refined": self.refined,
            "notes": [list(note) for note in self.notes],
            "in_report": list(self.in_report),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The search that :meth:`to_json` wrote, also an incomplete one.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: other data.
        """
        return cls(
            str(data.get("metric") or ""),
            Query.from_json(data.get("query") or {}),
            str(data.get("ledger", "")),
            float(data.get("strength", 1.0)),
            tuple(str(group) for group in data.get("without", ())),
            tuple(Query.from_json(one) for one in data.get("like", ())),
            tuple(Query.from_json(one) for one in data.get("unlike", ())),
            tuple((str(name), float(amount)) for name, amount in data.get("concepts", ())),
            bool(data.get("hide_same_patient", True)),
            bool(data.get("fold_duplicates", True)),
            float(data.get("diverse", 0.0)),
            float(data.get("unusual", NO_MATCH_RATE)),
            bool(data.get("without_patient", False)),
            None if data.get("candidates") is None else int(data["candidates"]),
            bool(data.get("refined", True)),
            tuple((str(case), str(text)) for case, text in data.get("notes", ())),
            tuple(str(case) for case in data.get("in_report", ())),
        )


def new_ledger() -> str:
    """A new, unique name of a ledger."""
    return secrets.token_hex(8)
