"""Same-lesion groups in the catalogue: the group of a case, and whether it was detected or set by a user."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from semblance.core.library.database import in_batches
from semblance.core.library.schema import lesion_groups

DETECTED, BY_HAND = "detected", "by hand"


@dataclass(frozen=True)
class GroupMember:
    """The number of the group that a case is in, and whether it is there ``detected`` or ``by hand``."""

    group: int
    source: str


def groups_in(connection: sa.Connection) -> dict[int, GroupMember]:
    """Row id of a case -> the group it is in, within a running transaction."""
    rows = connection.execute(sa.select(lesion_groups).order_by(lesion_groups.c.case)).all()
    return {r.case: GroupMember(r.group, r.source) for r in rows}


def remove_from_groups(connection: sa.Connection, rows: Collection[int], source: str | None = None) -> None:
    """Within a running transaction, take the cases ``rows`` out of the table; only those with ``source``."""
    for part in in_batches(sorted(rows)):
        statement = lesion_groups.delete().where(lesion_groups.c.case.in_(part))
        if source is not None:
            statement = statement.where(lesion_groups.c.source == source)
        connection.execute(statement)


def write_groups(connection: sa.Connection, changed: Mapping[int, GroupMember]) -> None:
    """Within a running transaction, put each case of ``changed`` into its group."""
    remove_from_groups(connection, changed)
    written = [
        {"case": row, "group": member.group, "source": member.source} for row, member in changed.items()
    ]
    connection.execute(lesion_groups.insert(), written)
