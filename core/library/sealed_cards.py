"""The hash of the card and the scores of a metric, which detects changes by other programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.schema import metrics

#: Key of a stored card.
HASH = "card_hash"


def sealed_card(card: Mapping[str, Any], scores: Mapping[str, Any] | None) -> dict[str, Any]:
    """``card`` with the hash of all that is in it, the metric's content hash among it, and of ``scores``."""
    return {**card, HASH: hash_of({key: value for key, value in card.items() if key != HASH}, scores)}


def seal_scores(
    connection: sa.Connection, which: sa.ColumnElement[bool], scores: Mapping[str, Any] | None
) -> None:
    """Store ``scores`` of the metrics ``which`` and renew the hash of their cards."""
    for row in connection.execute(sa.select(metrics.c.id, metrics.c.card).where(which)).fetchall():
        values = {"card": sealed_card(row.card, scores), "scores": None if scores is None else dict(scores)}
        connection.execute(metrics.update().where(metrics.c.id == row.id).values(**values))


def check_card(name: str, card: Mapping[str, Any], scores: Mapping[str, Any] | None) -> None:
    """Check a stored card against its hash.

    Raises:
        BadInput: the card or the scores were changed after they were written.
    """
    if sealed_card(card, scores)[HASH] != card.get(HASH):
        raise BadInput(
            tr_lazy(
                "The card of the metric '{name}' or its scores were changed after they were written.",
                name=name,
            ),
            "Score the metric again to replace its scores, train it again, or restore a backup.",
        )


def hash_of(*values: Any) -> str:
    """SHA-256 of JSON values, the same before they are stored and after."""
    stored = json.loads(json.dumps(values, default=str))
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()
