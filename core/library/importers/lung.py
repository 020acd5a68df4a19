"""Regions of lung in CT: a table of rectangles or polygons beside the scans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import MAX_POINTS, Polygon
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import PATIENT_COLUMNS, column_named, is_table_with, read_list
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.polyps import table_number
from semblance.core.library.importers.referenced_scans import Scan, ScanTable, find_scans, unused_files
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Reporter

_SCAN = ("scan", "series", "volume", "file", "path", "image")
_ROW = ("row", "frame")
_SLICE = ("slice", "slice_index", "z")
_FINDING = ("finding", "label", "class", "diagnosis")
_BOX = (("x", "left"), ("y", "top"), ("w", "width"), ("h", "height"))
#: Pixels beyond which no image reaches.
_MAX_COORDINATE = 1e6
_POLYGON = ("polygon", "points", "contour")


class LungImporter(Importer):
    """A folder or zip of CT (DICOM series or slices, array files, images) with a CSV of regions.

    Columns: the scan in ``scan`` (a series' folder or UID, a file; its row in ``row``), ``slice`` counted
    from 0 (not needed where the file is the slice), a rectangle ``x, y, w, h`` in pixels or a ``polygon``
    ("12 30; 40 31; 38 60" or [[12, 30], ...]), ``finding``, ``patient``, ``case_id`` if it likes. Other
    columns become attributes. Without a patient that of the DICOM header counts.
    """

    kind = "lung"
    reads_headers = True
    title = "Lung regions"
    summary = "CT slices or series with a CSV of regions: scan, slice, x, y, w, h or polygon, finding."

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where a table of regions lies beside other files."""
        entries = source.entries()
        tables = [
            entry for entry in entries if entry.path and is_table_with(source, entry, _has_region_columns)
        ]
        if not tables or len(tables) == len(entries):
            return None
        what = tr_lazy_n("{n} list of regions", "{n} lists of regions", len(tables))
        beside = tr_lazy_n("{n} file", "{n} files", len(entries) - len(tables))
        return Recognition(
            0.93, tr_lazy("{what} in CT slices beside {beside} of scans.", what=what, beside=beside)
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each region, those of one file together; scans without a region are rejected."""
        yield from ignored_files(source)
        tables = [e for e in source.entries() if e.path and is_table_with(source, e, _has_region_columns)]
        if not tables:
            raise BadInput(
                tr_lazy(
                    "'{source}' contains no CSV of regions (columns scan, finding and x, y, w, h or "
                    "polygon).",
                    source=source.path,
                ),
                "Name its columns this way, or import it as another kind.",
            )
        scans = find_scans(source, (e for e in source.entries() if e not in tables), reporter)
        yield from scans.rejected
        found: list[tuple[Scan | None, FoundCase]] = []
        used_keys: set[str] = set()
        for entry in tables:
            try:
                lines = _RegionTable(read_list(source, entry.path), entry.path, scans)
            except BadInput as error:
                yield RejectedFile(entry.path, str(error), failed=True)
                continue
            found += lines.cases(used_keys)
            yield from lines.rejected
            yield RejectedFile(entry.path, tr_lazy("Read as the list of regions."), failed=False)
        # A scan is read once, so its cases go together.
        order: dict[Scan | None, int] = {scan: place for place, scan in enumerate(scans.found)}
        found.sort(key=lambda pair: order[pair[0]])
        for _, group in groupby(found, key=lambda pair: pair[0]):
            yield from (case for _, case in group)
        with_cases = {scan for scan, _ in found if scan is not None}
        yield from unused_files(scans, with_cases, tr_lazy("The list has no region in it."))


def _has_region_columns(header: list[str]) -> bool:
    has_shape = column_named(header, *_POLYGON) is not None or all(
        column_named(header, *names) is not None for names in _BOX
    )
    return has_shape and all(column_named(header, *names) is not None for names in (_SCAN, _FINDING))


@dataclass
class _RegionTable(ScanTable):
    """The regions of one table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        header = self.text.header
        known = [_SCAN, _ROW, _SLICE, _FINDING, PATIENT_COLUMNS, _POLYGON, *_BOX, ("case_id",)]
        used_keys = {column_named(header, *names) for names in known}
        self._others = [place for place in range(len(header)) if place not in used_keys]

    def _case(self, row: list[str], number: int) -> tuple[Scan, FoundCase]:
        scan_name, place = self._cell(row, _SCAN), self._cell(row, _ROW)
        name = f"{scan_name}[{place}]" if place else scan_name
        scan = self.scans.find(name)
        if scan is None:
            raise BadInput(tr_lazy("it names the scan '{name}', which does not exist", name=name))
        region = self._region(row, scan, scan_name)
        header = self.text.header
        return scan, FoundCase(
            self._cell(row, ("case_id",)) or f"{self.name}#{number}",
            scan.path,
            scan.member,
            scan.frame,
            self._cell(row, _FINDING) or None,
            self._cell(row, PATIENT_COLUMNS) or scan.patient,
            region,
            {header[place]: row[place] for place in self._others if row[place]},
            slices=scan.slices,
        )

    def _region(self, row: list[str], scan: Scan, scan_name: str) -> Region:
        slice_at = self._slice(row, scan, scan_name)
        points = self._cell(row, _POLYGON)
        if points:
            return _polygon(points, slice_at)
        x, y, width, height = (table_number(self._cell(row, names), names[0]) for names in _BOX)
        if not (width >= 1 and height >= 1):
            raise BadInput(
                tr_lazy("a region of {width:g} x {height:g} pixels is empty", width=width, height=height)
            )
        if not all(abs(one) < _MAX_COORDINATE for one in (x, y, width, height)):
            raise BadInput(tr_lazy("a region at {x:g}, {y:g} is not possible", x=x, y=y))
        box = Region(round(x), round(y), round(width), round(height), None, slice_at)
        if scan.shape is not None:
            box.clipped(scan.shape[1], scan.shape[2])
        return box

    def _slice(self, row: list[str], scan: Scan, scan_name: str) -> int | None:
        cell = self._cell(row, _SLICE)
        if scan.shape is None:
            return None
        if not cell:
            own = [place for place, (path, _) in enumerate(scan.slices) if _is_file(path, scan_name)]
            if len(own) != 1:
                raise BadInput("its slice is missing (column 'slice', counted from 0)")
            return own[0]
        number = table_number(cell, "slice")
        if number not in range(scan.shape[0]):
            raise BadInput(
                tr_lazy(
                    "there is no slice {cell}: the scan has {shape}, counted from 0",
                    cell=cell,
                    shape=scan.shape[0],
                )
            )
        return int(number)


def _is_file(path: str, scan_name: str) -> bool:
    return scan_name.casefold() in (path.casefold(), PurePosixPath(path).name.casefold())


def _polygon(text: str, slice_at: int | None) -> Region:
    """The region of corners written as "x y; x y; ..." or [[x, y], ...]."""
    try:
        listed = (
            json.loads(text)
            if text.startswith("[")
            else [re.split(r"[\s,]+", pair.strip()) for pair in text.split(";") if pair.strip()]
        )
        points = [(float(x), float(y)) for x, y in listed]
    except (ValueError, TypeError, RecursionError):
        raise BadInput("its polygon is not written as 'x y; x y; ...' or [[x, y], ...]") from None
    corners = [axis for point in points for axis in point]
    if not 3 <= len(points) <= MAX_POINTS or not all(abs(axis) < _MAX_COORDINATE for axis in corners):
        raise BadInput("its polygon needs at least three corners, in pixels")
    left, top = int(min(x for x, _ in points) // 1), int(min(y for _, y in points) // 1)
    width = max(1, int(-(-max(x for x, _ in points) // 1)) - left)
    height = max(1, int(-(-max(y for _, y in points) // 1)) - top)
    within = Polygon(tuple((x - left, y - top) for x, y in points))
    return Region(left, top, width, height, within, slice_at)
