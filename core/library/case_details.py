"""Cases read from the catalogue in full: their labels, and the addresses of their images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from semblance.core.imaging.image_address import ImageAddress, address_in_folder
from semblance.core.imaging.region import Region
from semblance.core.library.database import in_batches
from semblance.core.library.records import CaseDetails, CaseRecord, Slice
from semblance.core.library.schema import HAS_IMAGE, cases, files, slices, sources

#: Runs a query with the values of its parameters.
RunQuery = Callable[..., Sequence[sa.Row[Any]]]
#: Made once: to write it again for each search takes longer than to run it.
_DETAILS = (
    sa.select(
        *(c for c in cases.c if c.name not in ("numbers", "file")),
        HAS_IMAGE.label("has_image"),
        files.c.path.label("file_path"),
        files.c.state,
        files.c.reason,
        sources.c.path.label("source_path"),
        sources.c.kind,
        sources.c.identified,
        # Also cases without depth may have them: those of marks in another file.
        sa.exists().where(slices.c.case == cases.c.id).label("has_slices"),
    )
    .join(files, files.c.id == cases.c.file)
    .join(sources, sources.c.id == files.c.source)
    .where(cases.c.id.in_(sa.bindparam("rows", expanding=True)))
)


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


def case_details(read: RunQuery, rows: Sequence[int]) -> dict[int, CaseDetails]:
    """Row id -> the details of the case."""
    out: dict[int, CaseDetails] = {}
    for part in in_batches(list(rows)):
        found = read(_DETAILS, rows=part)
        with_slices = [r.id for r in found if r.has_slices]
        volumes = slice_addresses(read, with_slices) if with_slices else {}
        for r in found:
            volume = volumes.get(r.id, NO_SLICES)
            own_address = _address(Path(r.source_path), r.file_path, r.member, r.frame)
            parts = tuple(_address(Path(r.source_path), path, "", f) for path, f in volume.slices)
            state, reason = (r.state, r.reason) if r.state != "ok" else (volume.state, volume.reason)
            out[r.id] = CaseDetails(
                r.id,
                r.case_id,
                r.finding,
                r.patient,
                Region.from_json(r.region) if r.region else None,
                r.attributes,
                r.width,
                r.height,
                r.content,
                r.kind,
                (_volume_address(parts) if parts else own_address) if r.has_image else None,
                state,
                reason,
                r.depth,
                volume.hashes,
                not r.identified and "study" in r.attributes,
            )
    return out


def _address(source: Path, path: str, member: str, frame: int | None) -> ImageAddress:
    """The address of a case's image: a file of a folder, an entry of a zip, or a row of an array file."""
    if not path:
        return ImageAddress(source, member, frame)
    if source.suffix.lower() == ".zip":
        inside = f"{path}!{member}" if member else path
        return ImageAddress(source, inside, frame)
    return address_in_folder(source, path, member, frame)


def _volume_address(parts: tuple[ImageAddress, ...]) -> ImageAddress:
    if len(parts) == 1:
        return parts[0]
    return ImageAddress(parts[0].container, parts[0].member, parts[0].frame, parts)
