"""Cases read from the catalogue in full: their labels, and the addresses of their images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from semblance.core.imaging.image_address import ImageAddress, address_in_folder
from semblance.core.imaging.region import Region
from semblance.core.library.database import in_batches
from semblance.core.library.records import CaseDetails
from semblance.core.library.schema import HAS_IMAGE, cases, files, slices, sources
from semblance.core.library.slice_tables import NO_SLICES, RunQuery, slice_addresses


def case_details(read: RunQuery, rows: Sequence[int]) -> dict[int, CaseDetails]:
    """Row id -> the details of the case."""
    out: dict[int, CaseDetails] = {}
    columns = [
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
    ]
    for part in in_batches(list(rows)):
        query = (
            sa.select(*columns)
            .join(files, files.c.id == cases.c.file)
            .join(sources, sources.c.id == files.c.source)
            .where(cases.c.id.in_(part))
        )
        found = read(query)
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
