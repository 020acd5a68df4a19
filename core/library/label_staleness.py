"""What changed in a library since its metrics were measured, noted in their scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from semblance.core.library.schema import metrics
from semblance.core.library.sealed_cards import seal_scores

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
