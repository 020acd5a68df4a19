"""The judgements of a library, each in its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from semblance.core.library.catalogue import Catalogue
from semblance.core.library.records import JudgementRecord
from semblance.core.library.schema import POSTGRESQL, judgements


class JudgementTable:
    """The judgements of one ledger; every change is a transaction."""

    def __init__(self, catalogue: Catalogue, ledger: str) -> None:
        self._catalogue, self.ledger = catalogue, ledger

    def read(self) -> list[tuple[int, JudgementRecord, int | None]]:
        """(id, judgement, its position among the undone ones or ``None``), oldest first."""
        t = judgements
        rows = self._catalogue.read(sa.select(t).where(t.c.ledger == self.ledger).order_by(t.c.id))
        return [(r.id, _record(r), r.undone) for r in rows]

    def append(self, records: Sequence[JudgementRecord]) -> list[int]:
        """Store judgements made together, all or none; their ids."""
        with self._catalogue.transaction() as connection:
            return [
                int(
                    connection.execute(
                        judgements.insert().values(
                            ledger=self.ledger, **{**vars(one), "shown": list(one.shown)}
                        )
                    ).inserted_primary_key[0]
                )
                for one in records
            ]

    def set_undone(self, changes: Sequence[tuple[int, int | None]]) -> None:
        """Set for each id its position among the undone judgements, or ``None`` where it is in force."""
        if not changes:
            return
        with self._catalogue.transaction() as connection:
            # Plain SQL: for ten thousand rows SQLAlchemy's parameters take longer than writing.
            mark = "%s" if connection.dialect.name == POSTGRESQL else "?"
            connection.exec_driver_sql(
                f"UPDATE judgements SET undone = {mark} WHERE id = {mark}",
                [(place, key) for key, place in changes],
            )


def ledgers(catalogue: Catalogue) -> list[str]:
    """Names of the ledgers that hold judgements, by their first judgement."""
    t = judgements
    rows = catalogue.read(sa.select(t.c.ledger).group_by(t.c.ledger).order_by(sa.func.min(t.c.id)))
    return [r.ledger for r in rows]


def judgements_in_force(catalogue: Catalogue) -> list[JudgementRecord]:
    """The judgements of all ledgers that were not undone, oldest first."""
    t = judgements
    return [_record(r) for r in catalogue.read(sa.select(t).where(t.c.undone.is_(None)).order_by(t.c.id))]


def _record(r: sa.Row[Any]) -> JudgementRecord:
    return JudgementRecord(r.kind, r.query, r.case, r.other, r.region, tuple(r.shown), r.author, r.time)
