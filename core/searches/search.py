"""A search: a query under a metric, with everything a person changed about it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from semblance.core.searches.query import Query

#: The share of a library's own cases whose nearest neighbour would be called no good match.
UNUSUAL = 0.01


@dataclass(frozen=True)
class Search:
    """All that decides a ranking.

    ``ledger`` names where its judgements are kept; searches that share one share them. ``strength`` 0 is the
    metric as it was, 1 follows the clicks as far as their number warrants. ``without``: feature groups left
    out. ``like`` and ``unlike``: examples beside the query. ``concepts``: (name, amount from -1 to 1).
    ``diverse``: 0 ranks by distance alone, 1 by being unlike what stands before. ``unusual``: the share of
    the library's own cases that would be said to have no good match.
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
    fold_duplicates: bool = True
    diverse: float = 0.0
    unusual: float = UNUSUAL

    @property
    def moved(self) -> bool:
        """Whether examples or concepts move what is asked away from the query itself."""
        return bool(self.like or self.unlike or any(amount for _, amount in self.concepts))

    def to_json(self) -> dict[str, Any]:
        """As saved searches hold it."""
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
            "fold_duplicates": self.fold_duplicates,
            "diverse": self.diverse,
            "unusual": self.unusual,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What :meth:`to_json` gave, whole or in part; version 0.1 called ``fold_duplicates`` fold_alike.

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
            bool(data.get("fold_duplicates", data.get("fold_alike", True))),
            float(data.get("diverse", 0.0)),
            float(data.get("unusual", UNUSUAL)),
        )


def new_ledger() -> str:
    """A name no other ledger has."""
    return secrets.token_hex(8)
