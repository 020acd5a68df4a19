"""What a person decided about doubtful cases: a finding that was given, or that all is right as it is.

A decision is an edit of the library: see :mod:`semblance.core.library.edit_log`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.database import in_batches
from semblance.core.library.edit_log import read_edits, recorded_edit, undo_edit
from semblance.core.library.schema import cases
from semblance.core.library.stored_values import stored_value

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue
    from semblance.core.library.library import Library

_KEY = "data reviews"
#: The kind of edit that a decision is.
REVIEW = "data review"


@dataclass(frozen=True)
class DataReview:
    """A decision about the cases ``case_ids`` that the check ``check`` listed.

    ``finding``: what all of them were given; ``None``: they were kept as they are. ``before``: the earlier finding
    of each case that got another one.
    """

    check: str
    case_ids: tuple[str, ...]
    finding: str | None
    before: Mapping[str, str | None]
    time: str


def read_reviews(catalogue: Catalogue) -> tuple[DataReview, ...]:
    """The decisions, oldest first."""
    return _reviews(stored_value(catalogue, _KEY))


def add_review(library: Library, check: str, case_ids: tuple[str, ...], finding: str | None) -> DataReview:
    """Give the cases ``case_ids`` the ``finding``, or keep them as they are (``None``), in one transaction.

    Raises:
        BadInput: the library no longer has one of the cases.
    """
    summary = {"n": len(case_ids), "cases": list(case_ids[:1]), "finding": finding}
    with recorded_edit(library, REVIEW, summary) as recorder:
        present = _findings(recorder.connection, case_ids)
        missing = [case_id for case_id in case_ids if case_id not in present]
        if missing:
            raise BadInput(
                tr_lazy("The library no longer has the case '{case_id}'.", case_id=missing[0]),
                "Check the data again.",
            )
        before = {} if finding is None else {one: was for one, was in present.items() if was != finding}
        review = DataReview(check, case_ids, finding, before, library.catalogue.now())
        recorder.update(cases, {case_id: {"finding": finding} for case_id in before})
        reviews = (*read_reviews(library.catalogue), review)
        recorder.set_value(_KEY, [_to_json(one) for one in reviews])
    return review


def undo_review(library: Library) -> DataReview | None:
    """Undo the last decision and give its cases their earlier findings; ``None`` where there is none."""
    found = [edit for edit in read_edits(library) if edit.kind == REVIEW and not edit.undone]
    reviews = read_reviews(library.catalogue)
    if not found or not reviews:
        return None
    undo_edit(library, found[-1].id)
    return reviews[-1]


def _findings(connection: sa.Connection, case_ids: tuple[str, ...]) -> dict[str, str | None]:
    out: dict[str, str | None] = {}
    for part in in_batches(case_ids):
        query = sa.select(cases.c.case_id, cases.c.finding).where(cases.c.case_id.in_(part))
        out |= {r.case_id: r.finding for r in connection.execute(query)}
    return out


def _to_json(review: DataReview) -> dict[str, Any]:
    return {
        "check": review.check,
        "cases": list(review.case_ids),
        "finding": review.finding,
        "before": dict(review.before),
        "time": review.time,
    }


def _reviews(value: Any) -> tuple[DataReview, ...]:
    if not isinstance(value, list):
        return ()
    try:
        return tuple(
            DataReview(one["check"], tuple(one["cases"]), one["finding"], one["before"], one["time"])
            for one in value
        )
    except (KeyError, TypeError):
        return ()
