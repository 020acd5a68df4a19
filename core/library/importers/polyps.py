"""Polyp candidates of CT colonography: a table of candidates beside their scans, or with ready features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.column_checks import WholeNumbers, index_reason, no_feature_notes
from semblance.core.library.importers.csv_text import PATIENT_COLUMNS, column_named, is_table_with, read_list
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.referenced_scans import Scan, ScanTable, find_scans, unused_files
from semblance.core.library.importers.source import Source
from semblance.core.library.importers.table_file import number_in
from semblance.core.normal_text import is_missing
from semblance.core.tasks import Reporter

#: The finding of candidates that are no polyp.
FALSE_POSITIVE = "false positive"

_VIEW, _POLYP = ("view", "pose"), ("polyp", "polyp_id", "lesion")
_VIEWS = {"prone": "prone", "p": "prone", "supine": "supine", "s": "supine"}
_VIEWS |= {"decubitus": "decubitus", "left": "left", "right": "right"}
_SCAN = ("scan", "series", "volume", "file", "path")
_ROW = ("row", "frame")
_GEODESIC = ("geodesic", "geodesic_position", "centreline", "centerline")
_SIZE = ("diameter_mm", "size_mm", "diameter", "size")
_MM, _VOXELS = ("x_mm", "y_mm", "z_mm"), ("x", "y", "z")
#: Side in mm of the box shown around a candidate without a size, and what is added to one with a size.
_BOX, _MARGIN = 12.0, 4.0


class PolypsImporter(Importer):
    """A folder or zip of CT series (DICOM) or array files with a CSV of candidates, or such a CSV alone.

    Columns: ``patient``, ``view`` (prone or supine), ``polyp`` (empty for false positives), the scan in
    ``scan`` (a series' folder or UID, a file; its row in ``row``), the position in ``x_mm, y_mm, z_mm`` or in
    voxels ``x, y, z`` counted from 0; if known ``diameter_mm``, ``geodesic`` (0 rectum to 1 caecum) and
    ``case_id``. Other columns of numbers are ready features, of words attributes. The finding is the polyp:
    its name where one patient has it, else with the patient's number in the table.
    """

    kind = "polyps"
    reads_headers = True
    title = "Polyp candidates"
    summary = (
        "CT colonography with a CSV of candidates (patient, view, polyp, position), or with ready features."
    )

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where a table lists polyp candidates."""
        tables = [entry for entry in source.entries() if is_table_with(source, entry, _has_candidate_columns)]
        if not tables:
            return None
        others = len(source.entries()) - len(tables)
        what = tr_lazy_n("{n} list of polyp candidates", "{n} lists of polyp candidates", len(tables))
        beside = (
            tr_lazy(" beside {others} of scans", others=tr_lazy_n("{n} file", "{n} files", others))
            if others
            else tr_lazy(" with ready features")
        )
        return Recognition(
            0.95,
            tr_lazy(
                "{what}{beside}; prone and supine views of a patient are linked.", what=what, beside=beside
            ),
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each candidate, those of one scan together; unused scans are rejected."""
        yield from ignored_files(source)
        tables = [entry for entry in source.entries() if is_table_with(source, entry, _has_candidate_columns)]
        if not tables:
            raise BadInput(
                tr_lazy(
                    "'{source}' contains no CSV of candidates with the columns patient, view and polyp.",
                    source=source.path,
                ),
                "Name its columns this way, or import it as another kind.",
            )
        scans = find_scans(source, (e for e in source.entries() if e not in tables), reporter)
        yield from scans.rejected
        used: dict[Scan | None, list[FoundCase]] = {}
        used_keys: set[str] = set()
        features: tuple[str, ...] | None = None
        for entry in tables:
            name = source.label(entry.path)
            try:
                lines = _CandidateTable(read_list(source, entry.path), name, scans, path=entry.path)
            except BadInput as error:
                if source.kind == "file":
                    raise
                yield RejectedFile(entry.path, str(error), failed=True)
                continue
            if features is not None and lines.features != features:
                reason = tr_lazy(
                    "Its columns of features differ from those of the previous list. Import it separately."
                )
                yield RejectedFile(entry.path, reason, failed=True)
                continue
            features = lines.features
            source.notes += lines.notes
            for scan, case in lines.cases(used_keys):
                used.setdefault(scan, []).append(case)
            yield from lines.rejected
            if None not in used:
                yield RejectedFile(entry.path, tr_lazy("Read as the list of candidates."), failed=False)
        for cases in sorted(used.values(), key=lambda cases: cases[0].path):
            yield from cases
        with_cases = {scan for scan in used if scan is not None}
        yield from unused_files(scans, with_cases, tr_lazy("The list has no candidate in it."))


def _has_candidate_columns(header: list[str]) -> bool:
    return all(column_named(header, *names) is not None for names in (PATIENT_COLUMNS, _VIEW, _POLYP))


@dataclass
class _CandidateTable(ScanTable):
    """The candidates of one table."""

    path: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        known = (PATIENT_COLUMNS, _VIEW, _POLYP, _SCAN, _ROW, _GEODESIC, _SIZE, ("case_id",))
        used_keys = {column_named(self.text.header, *names) for names in known}
        used_keys |= {column_named(self.text.header, name) for name in (*_MM, *_VOXELS)}
        others = [place for place in range(len(self.text.header)) if place not in used_keys]
        self._no_features = self._reasons(others)
        self._feature_columns = [
            place for place in others if self._is_number_column(place) and place not in self._no_features
        ]
        self._text_columns = [
            place for place in others if place not in (*self._feature_columns, *self._no_features)
        ]
        self._patients: dict[str, int] = {}
        self._patients_of_polyp: dict[str, set[str]] = {}
        for row in self.text.rows:
            patient, polyp = self._cell(row, PATIENT_COLUMNS), self._cell(row, _POLYP)
            self._patients.setdefault(patient, len(self._patients) + 1)
            if polyp:
                self._patients_of_polyp.setdefault(polyp, set()).add(patient)

    def _reasons(self, places: Sequence[int]) -> dict[int, str]:
        """The columns of numbers that measure nothing, and why."""
        found = {}
        for place in filter(self._is_number_column, places):
            numbers = WholeNumbers()
            values = [_float(row[place]) for row in self.text.rows]
            sampled = [math.nan if value is None else value for value in values]
            numbers.add(np.array(sampled))
            if reason := index_reason(self.text.header[place], numbers, sampled):
                found[place] = reason
        return found

    @property
    def notes(self) -> list[str]:
        """What a person should know of how the list was read."""
        reasons = {self.text.header[place]: reason for place, reason in self._no_features.items()}
        return no_feature_notes(self.name, list(reasons.items()), can_be_chosen=False)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of ready features."""
        return tuple(self.text.header[place] for place in self._feature_columns)

    def _case(self, row: list[str], number: int) -> tuple[Scan | None, FoundCase]:
        scan = self._scan(row)
        patient, polyp = self._cell(row, PATIENT_COLUMNS), self._cell(row, _POLYP)
        if not patient:
            raise BadInput("the patient is missing")
        written_view = self._cell(row, _VIEW)
        view = _VIEWS.get(written_view.casefold())
        if view is None:
            raise BadInput(tr_lazy("'{view}' is not a view: write prone or supine", view=written_view))
        attributes = {self.text.header[place]: row[place] for place in self._text_columns if row[place]}
        attributes |= {"view": view}
        attributes |= {"polyp": polyp} if polyp else {}
        geodesic = self._number(row, _GEODESIC)
        if geodesic is not None:
            if not 0.0 <= geodesic <= 1.0:
                raise BadInput(
                    tr_lazy(
                        "the geodesic position {geodesic:g} is not between 0 (rectum) and 1 (caecum)",
                        geodesic=geodesic,
                    )
                )
            attributes["geodesic"] = f"{geodesic:g}"
        size = self._number(row, _SIZE)
        if size is not None and not 0 < size < 1000:
            raise BadInput(tr_lazy("a size of {size:g} mm is not possible", size=size))
        attributes |= {} if size is None else {"diameter_mm": f"{size:g}"}
        values = tuple(table_number(row[place], self.text.header[place]) for place in self._feature_columns)
        key = self._cell(row, ("case_id",)) or f"{self.name}#{number}"
        if scan is None and not values:
            raise BadInput("it names no scan and has no features")
        return scan, FoundCase(
            key,
            self.path if scan is None else scan.path,
            "" if scan is None else scan.member,
            None if scan is None else scan.frame,
            self._finding(patient, polyp),
            patient,
            None if scan is None else self._region(row, scan, size),
            attributes,
            values if values else None,
            self.features,
            () if scan is None else scan.slices,
        )

    def _finding(self, patient: str, polyp: str) -> str:
        """Never the patient's own name: findings are shown in reports."""
        if not polyp:
            return FALSE_POSITIVE
        if len(self._patients_of_polyp[polyp]) == 1:
            return f"polyp {polyp}"
        return f"polyp {polyp} of patient {self._patients[patient]}"

    def _scan(self, row: list[str]) -> Scan | None:
        """The scan of a row; ``None`` where the source has none at all.

        Raises:
            BadInput: there are scans, and none or several are meant.
        """
        if not self.scans.found:
            return None
        scan_name, place = self._cell(row, _SCAN), self._cell(row, _ROW)
        if scan_name:
            names = [f"{scan_name}[{place}]"] if place else [scan_name]
            found = self.scans.find(*names)
            if found is None:
                raise BadInput(tr_lazy("it names the scan '{names}', which does not exist", names=names[0]))
        else:
            patient, view = self._cell(row, PATIENT_COLUMNS), self._cell(row, _VIEW)
            names = [f"{patient}{mark}{view}" for mark in "/_-. "]
            found = self.scans.found[0] if len(self.scans.found) == 1 else self.scans.find(*names)
            if found is None:
                raise BadInput("its scan is missing (column 'scan')")
        if found.shape is None:
            raise BadInput(tr_lazy("'{found}' is a single image, not a volume", found=found.path))
        return found

    def _region(self, row: list[str], scan: Scan, size: float | None) -> Region:
        """A box around the candidate."""
        assert scan.shape is not None
        z, y, x = self._position(row, scan)
        if not all(-0.5 <= at < side - 0.5 for at, side in zip((z, y, x), scan.shape, strict=True)):
            raise BadInput(
                tr_lazy(
                    "its position (slice {z:.0f}, row {y:.0f}, column {x:.0f}) lies outside the scan of "
                    "{shape} x {shape2} x {shape3} voxels",
                    z=z,
                    y=y,
                    x=x,
                    shape=scan.shape[0],
                    shape2=scan.shape[1],
                    shape3=scan.shape[2],
                )
            )
        box_mm = _BOX if size is None else size + _MARGIN
        first, sides = [], []
        for at, side, mm in zip((z, y, x), scan.shape, scan.spacing or (1.0, 1.0, 1.0), strict=True):
            half = max(0, round((box_mm / mm - 1) / 2))
            middle = min(max(math.floor(at + 0.5), 0), side - 1)
            # As far on either side, so that the middle of the box stays the position.
            half = min(half, middle, side - 1 - middle)
            first.append(middle - half)
            sides.append(2 * half + 1)
        return Region(first[2], first[1], sides[2], sides[1], None, first[0], sides[0])

    def _position(self, row: list[str], scan: Scan) -> tuple[float, float, float]:
        """Indices (z, y, x)."""
        for names in (_MM, _VOXELS):
            cells = [self._number(row, (name,)) for name in names]
            x, y, z = cells
            if x is not None and y is not None and z is not None:
                return scan.voxel_of(x, y, z) if names is _MM else (z, y, x)
        raise BadInput("its position is missing (x_mm, y_mm, z_mm, or x, y, z in voxels)")

    def _is_number_column(self, place: int) -> bool:
        cells = [row[place] for row in self.text.rows if not is_missing(row[place])]
        numbers = sum(_float(cell) is not None for cell in cells)
        return bool(cells) and 2 * numbers > len(cells)

    def _number(self, row: list[str], names: tuple[str, ...]) -> float | None:
        cell = self._cell(row, names)
        return None if is_missing(cell) else table_number(cell, names[0])


def _float(cell: str) -> float | None:
    number = number_in(cell)
    return number if number is not None and math.isfinite(number) else None


def table_number(cell: str, column: str) -> float:
    """The number in a cell, NaN where it is empty.

    Raises:
        BadInput: something else stands there.
    """
    if is_missing(cell):
        return math.nan
    number = _float(cell)
    if number is None:
        raise BadInput(
            tr_lazy("'{cell}' in the column '{column}' is not a number", cell=cell[:40], column=column)
        )
    return number
