"""What a person decided about doubtful cases: a finding that was given, or that all is right as it is.

A finding given here stays when its source is imported again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.database import in_batches
from semblance.core.library.records import now
from semblance.core.library.schema import cases, metrics
from semblance.core.library.sealed_cards import seal_scores
from semblance.core.library.stored_values import read_value, stored_value, write_value

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue

_KEY = "data reviews"
#: Key of stored scores: the findings that were given since, as {case id: finding when the scores were measured}.
CHANGED_FINDINGS = "changed_findings"
#: No finding that a case can have.
_OTHER = object()


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


def given_findings(catalogue: Catalogue) -> dict[str, str]:
    """Case id -> the finding that a person gave it last."""
    return {
        case_id: review.finding
        for review in read_reviews(catalogue)
        if review.finding is not None
        for case_id in review.case_ids
    }


def add_review(
    catalogue: Catalogue, check: str, case_ids: tuple[str, ...], finding: str | None
) -> DataReview:
    """Give the cases ``case_ids`` the ``finding``, or keep them as they are (``None``), in one transaction.

    Raises:
        BadInput: the library no longer has one of the cases.
    """
    with catalogue.transaction() as connection:
        present = _findings(connection, case_ids)
        missing = [case_id for case_id in case_ids if case_id not in present]
        if missing:
            raise BadInput(
                tr_lazy("The library no longer has the case '{case_id}'.", case_id=missing[0]),
                "Check the data again.",
            )
        before = {} if finding is None else {one: was for one, was in present.items() if was != finding}
        review = DataReview(check, case_ids, finding, before, now())
        if finding is not None:
            _write_findings(connection, present, dict.fromkeys(before, finding))
        _store(connection, (*_reviews(read_value(connection, _KEY)), review))
    return review


def undo_review(catalogue: Catalogue) -> DataReview | None:
    """Undo the last decision and give its cases their earlier findings; ``None`` where there is none."""
    with catalogue.transaction() as connection:
        reviews = _reviews(read_value(connection, _KEY))
        if not reviews:
            return None
        before = reviews[-1].before
        _write_findings(connection, _findings(connection, tuple(before)), before)
        _store(connection, reviews[:-1])
    return reviews[-1]


def _findings(connection: sa.Connection, case_ids: tuple[str, ...]) -> dict[str, str | None]:
    out: dict[str, str | None] = {}
    for part in in_batches(case_ids):
        query = sa.select(cases.c.case_id, cases.c.finding).where(cases.c.case_id.in_(part))
        out |= {r.case_id: r.finding for r in connection.execute(query)}
    return out


def _write_findings(
    connection: sa.Connection, present: Mapping[str, str | None], given: Mapping[str, str | None]
) -> None:
    """Write the findings ``given`` over the ``present`` ones, and that scores were measured with others."""
    if not given:
        return
    statement = cases.update().where(cases.c.case_id == sa.bindparam("key"))
    connection.execute(
        statement.values(finding=sa.bindparam("given")),
        [{"key": case_id, "given": finding} for case_id, finding in given.items()],
    )
    scored = sa.select(metrics.c.id, metrics.c.scores).where(metrics.c.scores.is_not(None))
    for r in connection.execute(scored).all():
        if not r.scores:
            continue
        then = {case_id: present[case_id] for case_id in given if case_id in present}
        then |= r.scores.get(CHANGED_FINDINGS, {})
        changed = {case_id: was for case_id, was in then.items() if given.get(case_id, _OTHER) != was}
        scores = {**r.scores, CHANGED_FINDINGS: changed}
        seal_scores(connection, metrics.c.id == r.id, scores)


def _store(connection: sa.Connection, reviews: tuple[DataReview, ...]) -> None:
    value = [
        {
            "check": review.check,
            "cases": list(review.case_ids),
            "finding": review.finding,
            "before": dict(review.before),
            "time": review.time,
        }
        for review in reviews
    ]
    write_value(connection, _KEY, value)


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
