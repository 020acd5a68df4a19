"""Scans that a table refers to: DICOM series and objects, volumes in array files, single images."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.imaging.arrays import ArrayFile
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.imaging.dicom.geometry import distance_between
from semblance.core.imaging.formats import DICOM, has_image_name, sniff
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.imaging.stacks import SPACING, is_volume_shape, stored_spacing
from semblance.core.imaging.volume import Spacing
from semblance.core.language import tr_lazy
from semblance.core.library.importers.csv_text import CsvText, column_named
from semblance.core.library.importers.dicom_series import (
    HEADER_TAGS,
    DicomInstance,
    DicomInstanceGroup,
    group_instances,
    read_instance,
)
from semblance.core.library.importers.importer import FoundCase, RejectedFile
from semblance.core.library.importers.source import Entry, Source
from semblance.core.normal_text import composed
from semblance.core.tasks import Reporter

_LABEL_ARRAYS = ("mask", "label", "segment", "seg_")


@dataclass(frozen=True, eq=False)
class Scan:
    """The address of a scan, in the form of a :class:`FoundCase`, and the facts known before it is decoded.

    ``shape`` (depth, height, width), ``None`` for an image; ``plane`` of a DICOM series' first slice;
    ``names``: what a table may call it.
    """

    path: str
    names: tuple[str, ...]
    member: str = ""
    frame: int | None = None
    slices: tuple[tuple[str, int | None], ...] = ()
    shape: tuple[int, int, int] | None = None
    spacing: Spacing | None = None
    plane: SlicePlane | None = None
    patient: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file of the scan, ``path`` first."""
        return tuple(dict.fromkeys((self.path, *(path for path, _ in self.slices))))

    def voxel_of(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Indices (z, y, x) of the point (x, y, z) mm: in the patient for DICOM, from the middle of the first
        voxel for arrays.

        Raises:
            BadInput: the scan has no spacing.
        """
        if self.spacing is None:
            raise BadInput(
                tr_lazy(
                    "'{names}' has no spacing, so a position in mm cannot be found in it", names=self.names[0]
                ),
                "Give x, y and z in voxels, or add an array 'spacing' to the file of the volume.",
            )
        if self.plane is None:
            return z / self.spacing[0], y / self.spacing[1], x / self.spacing[2]
        column, row, above = self.plane.pixels_of(np.array([[x, y, z]], dtype=np.float64))[0].tolist()
        return above / self.spacing[0], row - 0.5, column - 0.5


@dataclass
class ReferencedScans:
    """All scans of a source, and the files that are none."""

    found: list[Scan] = field(default_factory=list)
    rejected: list[RejectedFile] = field(default_factory=list)
    _by_name: dict[str, list[Scan]] = field(default_factory=dict)

    def add(self, scan: Scan) -> None:
        """Add a scan under all its names, whatever their case."""
        self.found.append(scan)
        for name in dict.fromkeys(composed(name).casefold() for name in scan.names):
            self._by_name.setdefault(name, []).append(scan)

    def find(self, *names: str) -> Scan | None:
        """The scan called by the first of ``names`` that any is called by.

        Raises:
            BadInput: several are.
        """
        for name in names:
            scans = self._by_name.get(
                composed(name.strip()).replace("\\", "/").removeprefix("./").casefold(), []
            )
            if len(scans) > 1:
                raise BadInput(
                    tr_lazy("{n} scans of the source have the name '{name}'", name=name, n=len(scans))
                )
            if scans:
                return scans[0]
        return None


def find_scans(source: Source, entries: Iterable[Entry], reporter: Reporter) -> ReferencedScans:
    """The scans among ``entries``; headers are read, nothing is decoded."""
    scans = ReferencedScans()
    instances: list[DicomInstance] = []
    with ImageReader() as reader:
        for number, entry in enumerate(entries):
            if number % 50 == 0:
                reporter.check_cancelled()
            if PurePosixPath(source.label(entry.path)).suffix.lower() == ".npz":
                _arrays(source, entry.path, reader, scans)
            elif has_image_name(source.label(entry.path)):
                scans.add(Scan(entry.path, _file_names(entry.path)))
            else:
                _dicom(source, entry.path, instances, scans)
    for group in group_instances(instances):
        scans.add(_series(group))
    return scans


def unused_files(scans: ReferencedScans, used: set[Scan], what: str) -> Iterator[RejectedFile]:
    """Every file of the scans that gave no case; ``what`` is the reason."""
    used_paths = {path for scan in used for path in scan.paths}
    reported: set[str] = set()
    for scan in scans.found:
        for path in scan.paths:
            if path not in used_paths and path not in reported:
                reported.add(path)
                yield RejectedFile(path, what, failed=False)


def _dicom(source: Source, path: str, instances: list[DicomInstance], scans: ReferencedScans) -> None:
    try:
        head = source.head(path)
        if sniff(head) != DICOM:
            scans.rejected.append(
                RejectedFile(path, tr_lazy("Neither a scan nor a table of regions."), failed=False)
            )
            return
        with source.stream(path) as file:
            opened = open_dicom(file, source.label(path), (*HEADER_TAGS, "DirectoryRecordSequence"))
            instance = read_instance(
                path, opened.dataset, pixels=bool(opened.pixels), pseudonyms=source.pseudonyms
            )
    except BadInput as error:
        scans.rejected.append(RejectedFile(path, str(error), failed=True))
        return
    if instance.pixels:
        instances.append(instance)
    else:
        scans.rejected.append(RejectedFile(path, tr_lazy("A DICOM object without pixels."), failed=False))


def _series(group: DicomInstanceGroup) -> Scan:
    first = group.instances[0]
    planes = group.planes
    rows, columns, _ = first.size
    names = [group.key, first.series, *_folder_names(group)]
    for one in group.instances:
        names += _file_names(one.path)
    depth = len(group.slices) if group.is_volume else first.frames
    slice_distance = distance_between(planes) if len(planes) == depth > 1 else None
    in_plane = planes[0].spacing if planes else None
    return Scan(
        first.path,
        tuple(name for name in names if name),
        slices=group.slices if group.is_volume else (),
        shape=(depth, rows, columns) if depth > 1 else None,
        spacing=None if slice_distance is None or in_plane is None else (slice_distance, *in_plane),
        plane=planes[0] if planes else None,
        patient=first.patient,
    )


def _folder_names(group: DicomInstanceGroup) -> list[str]:
    folders = {PurePosixPath(one.path).parent for one in group.instances}
    if len(folders) != 1 or not group.is_volume:
        return []
    folder = folders.pop()
    return [] if folder == PurePosixPath(".") else [str(folder), folder.name]


def _file_names(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path)
    return path, parts.name, parts.stem


def _arrays(source: Source, path: str, reader: ImageReader, scans: ReferencedScans) -> None:
    try:
        file = reader.array_file(source.address(path))
        volumes = {name: file.header(name).shape for name in file.names if _may_hold_scans(file, name)}
        spacing = file.read(SPACING) if SPACING in file.names else None
    except BadInput as error:
        scans.rejected.append(RejectedFile(path, str(error), failed=True))
        return
    if not volumes:
        reason = tr_lazy("An array file without volumes (slices x rows x columns).")
        scans.rejected.append(RejectedFile(path, reason, failed=True))
    for name, shape in volumes.items():
        # Of one array its file's name will do.
        array_names = [f"{one}!{name}" for one in _file_names(path)] + [name]
        array_names += _file_names(path) if len(volumes) == 1 else []
        is_batch = len(shape) == 4 and shape[3] != 1
        for row in range(shape[0] if is_batch else 1):
            names = [f"{one}[{row}]" for one in array_names] if is_batch else array_names
            if is_batch and shape[0] == 1:
                names += array_names
            depth, height, width = shape[1:4] if is_batch else shape[:3]
            scans.add(
                Scan(
                    path,
                    tuple(names),
                    name,
                    row if is_batch else None,
                    shape=(depth, height, width),
                    spacing=None if spacing is None else stored_spacing(spacing, row),
                )
            )


def _may_hold_scans(file: ArrayFile, name: str) -> bool:
    shape = file.header(name).shape
    if 0 in shape or any(word in name.casefold() for word in _LABEL_ARRAYS):
        return False
    return is_volume_shape(shape) or (len(shape) == 4 and is_volume_shape(shape[1:]))


@dataclass
class ScanTable(abc.ABC):
    """A table whose rows are cases in ``scans``; ``name``: its file, in messages and keys. ``rejected``: rows that
    cannot be used, with their reasons."""

    text: CsvText
    name: str
    scans: ReferencedScans
    rejected: list[RejectedFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        for failed in self.text.failed:
            self._reject(failed.line, failed.reason)

    def cases(self, used_keys: set[str]) -> Iterator[tuple[Scan | None, FoundCase]]:
        """Each row as a case with its scan; the reasons of the others go to ``rejected``.

        ``used_keys``: keys there are already; those of the rows are added.
        """
        for row, line, number in zip(self.text.rows, self.text.lines, self.text.numbers, strict=True):
            try:
                scan, case = self._case(row, number)
                if case.key in used_keys:
                    raise BadInput(tr_lazy("the case_id '{key}' occurs a second time", key=case.key))
            except BadInput as error:
                self._reject(line, error.message)
                continue
            used_keys.add(case.key)
            yield scan, case

    @abc.abstractmethod
    def _case(self, row: list[str], number: int) -> tuple[Scan | None, FoundCase]:
        """The case of a row, the ``number``-th, with its scan.

        Raises:
            BadInput: the row cannot be used.
        """

    def _cell(self, row: list[str], names: tuple[str, ...]) -> str:
        place = column_named(self.text.header, *names)
        return "" if place is None else row[place]

    def _reject(self, line: int, reason: str) -> None:
        reason = tr_lazy("Line {line}: {reason}.", line=line, reason=reason)
        self.rejected.append(RejectedFile(f"{self.name}:{line}", reason, failed=True))
