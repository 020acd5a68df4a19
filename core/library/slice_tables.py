"""The slices of volumes in several files: their files, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.library.database import in_batches
from semblance.core.library.records import CaseRecord, Slice
from semblance.core.library.schema import cases, files, slices

RunQuery = Callable[[sa.Select[Any]], Sequence[sa.Row[Any]]]


@dataclass
class VolumeSlices:
    """The slices of one case in order, the hashes of their files, and the state of the worst of them."""

    slices: tuple[Slice, ...] = ()
    hashes: tuple[str, ...] = ()
    state: str = "ok"
    reason: str = ""


#: The value for a case that is not a volume in several files.
NO_SLICES = VolumeSlices()


def write_slices(
    connection: sa.Connection, records: Sequence[CaseRecord], file_rows: Mapping[str, int]
) -> None:
    """Replace the slices of the cases of ``records``, which are written already."""
    rows: dict[str, int] = {}
    case_ids = [record.case_id for record in records]
    for part in in_batches(case_ids):
        query = sa.select(cases.c.case_id, cases.c.id).where(cases.c.case_id.in_(part))
        rows.update((case_id, row) for case_id, row in connection.execute(query).all())
    connection.execute(
        slices.delete().where(slices.c.case == sa.bindparam("row")), [{"row": row} for row in rows.values()]
    )
    new = [
        {"case": rows[record.case_id], "place": place, "file": file_rows[path], "frame": frame}
        for record in records
        for place, (path, frame) in enumerate(record.slices)
    ]
    if new:
        connection.execute(slices.insert(), new)


def slices_of_source(read: RunQuery, source: int) -> dict[str, tuple[Slice, ...]]:
    """Case id -> its slices, for the cases of one source that have any."""
    query = (
        sa.select(cases.c.case_id, files.c.path, slices.c.frame)
        .join(cases, cases.c.id == slices.c.case)
        .join(files, files.c.id == slices.c.file)
        .where(files.c.source == source)
        .order_by(slices.c.case, slices.c.place)
    )
    found: dict[str, list[Slice]] = {}
    for r in read(query):
        found.setdefault(r.case_id, []).append((r.path, r.frame))
    return {case_id: tuple(parts) for case_id, parts in found.items()}


def slice_addresses(read: RunQuery, case_rows: Sequence[int]) -> dict[int, VolumeSlices]:
    """Row of a case -> its slices, for those of ``case_rows`` (at most 10,000) that have any."""
    query = (
        sa.select(slices.c.case, files.c.path, slices.c.frame, files.c.hash, files.c.state, files.c.reason)
        .join(files, files.c.id == slices.c.file)
        .where(slices.c.case.in_(case_rows))
        .order_by(slices.c.case, slices.c.place)
    )
    out: dict[int, VolumeSlices] = {}
    parts: dict[int, list[tuple[Slice, str]]] = {}
    for r in read(query):
        parts.setdefault(r.case, []).append(((r.path, r.frame), r.hash))
        found = out.setdefault(r.case, VolumeSlices())
        if r.state != "ok" and found.state == "ok":
            found.state, found.reason = r.state, f"{r.path}: {r.reason}"
    for row, found in out.items():
        found.slices = tuple(part for part, _ in parts[row])
        found.hashes = tuple(digest for _, digest in parts[row])
    return out
