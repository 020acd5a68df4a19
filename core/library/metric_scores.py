"""Stored scores of a metric: sealed with its card by a hash, and what changed in the library since."""

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


#: Keys of stored scores: {case id: what it was when the scores were measured} of the cases that are another now. A
#: case in ``REMOVED_CASES`` was in the library then. In ``CHANGED_LESIONS`` is the number of the same-lesion group; a
#: later detection is noted there as a whole.
CHANGED_FINDINGS, CHANGED_PATIENTS, REMOVED_CASES = "changed_findings", "changed_patients", "removed_cases"
CHANGED_LESIONS = "changed_lesions"
CHANGES_SINCE = (CHANGED_FINDINGS, CHANGED_PATIENTS, REMOVED_CASES, CHANGED_LESIONS)
#: No finding, patient and group that a case can have.
_OTHER = object()


def note_in_scores(
    connection: sa.Connection, key: str, before: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Note in all scores, within a running transaction, that cases were ``before`` and are ``now`` another.

    What is again as it was when the scores were measured is noted no more.
    """
    if not now:
        return
    scored = sa.select(metrics.c.id, metrics.c.scores).where(metrics.c.scores.is_not(None))
    for r in connection.execute(scored).all():
        if not r.scores:
            continue
        then = {case_id: before[case_id] for case_id in now if case_id in before}
        then |= r.scores.get(key, {})
        changed = {case_id: was for case_id, was in then.items() if now.get(case_id, _OTHER) != was}
        if changed != r.scores.get(key, {}):
            seal_scores(connection, metrics.c.id == r.id, {**r.scores, key: changed})


def is_changed_since(scores: Mapping[str, Any] | None) -> bool:
    """Whether findings, patients, same-lesion groups or cases of the library changed since ``scores`` were measured."""
    return any((scores or {}).get(key) for key in CHANGES_SINCE)
