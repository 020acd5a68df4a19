"""DICOM objects anywhere in a folder, a zip or a medium: recognised by content, joined by their headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom import cad_marks, segmentations, structure_sets
from semblance.core.imaging.dicom.attributes import items, text
from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom
from semblance.core.imaging.dicom.geometry import slice_plane
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.segmentations import NamedRegion, referenced_instances
from semblance.core.imaging.dicom.volumes import order_of
from semblance.core.imaging.formats import DICOM, HEAD_BYTES, foreign_format, has_image_name, sniff
from semblance.core.imaging.image_address import divide_zip_entry
from semblance.core.imaging.region import Region
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.finding_codes import standard_code, stored_codes
from semblance.core.library.importers.dicom_series import (
    HEADER_TAGS,
    DicomInstance,
    DicomInstanceGroup,
    case_key,
    group_instances,
    read_instance,
)
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import LabelTableLine, is_label_table, read_label_tables
from semblance.core.library.importers.source import Entry, Source
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from pydicom import Dataset


def named_files(dataset: Dataset) -> tuple[list[str], list[str]]:
    """(files, refused): paths relative to the DICOMDIR's folder, "/" between parts; refused are those outside the
    folder. The disk is not read."""
    files: list[str] = []
    refused: list[str] = []
    for record in items(dataset, "DirectoryRecordSequence"):
        file_id = text(record, "ReferencedFileID")
        if not file_id:
            continue
        parts = file_id.split("\\")
        outside = any(
            not part or part in (".", "..") or "/" in part or ":" in part or "\0" in part for part in parts
        )
        (refused if outside else files).append("/".join(parts) if outside else str(PurePosixPath(*parts)))
    return files, refused


def marks_regions(instance: DicomInstance) -> bool:
    """Whether an object marks parts of others."""
    return (
        instance.sop_class in cad_marks.SOP_CLASSES
        or instance.sop_class == structure_sets.SOP_CLASS
        or (instance.sop_class == segmentations.SOP_CLASS and instance.pixels)
    )


class RegionFinder:
    """Finds what objects of regions refer to, among the groups of one source."""

    def __init__(self, source: Source, groups: Sequence[DicomInstanceGroup]) -> None:
        self._source, self._groups = source, groups
        self._groups_of_instance: dict[str, list[DicomInstanceGroup]] = {}
        for group in groups:
            for one in group.instances:
                self._groups_of_instance.setdefault(one.sop_instance, []).append(group)

    def cases(self, instance: DicomInstance) -> Iterator[FoundCase | RejectedFile]:
        """The cases of one object, or why it gives none; a segmentation whose images are not there is a
        image of its own."""
        name = self._source.label(instance.path)
        try:
            found = self._cases_with_regions(instance, name)
        except BadInput as error:
            if instance.sop_class == segmentations.SOP_CLASS:
                yield self._unlinked_case(instance, _without_paths(error.message, name))
            else:
                yield RejectedFile(instance.path or name, str(error), failed=True)
            return
        if found:
            yield from found
        elif instance.sop_class == segmentations.SOP_CLASS:
            yield self._unlinked_case(instance, tr_lazy("The images it refers to are not in this source."))
        else:
            reason = tr_lazy("It marks nothing on the images of this source.")
            yield RejectedFile(instance.path or name, reason, failed=False)

    def _cases_with_regions(self, instance: DicomInstance, name: str) -> list[FoundCase]:
        with self._source.stream(instance.path) as file, errors_as_bad_input(name):
            if instance.sop_class in cad_marks.SOP_CLASSES:
                return self._cases_of_cad_marks(instance, open_dicom(file, name).dataset)
            if instance.sop_class == structure_sets.SOP_CLASS:
                dataset = open_dicom(file, name).dataset
                group = self._referenced_group(dataset, instance)
                planes = [] if group is None else self._planes(group)
                known = [plane for plane in planes if plane is not None]
                if group is None or not known or len(known) < len(planes):
                    return []
                regions = structure_sets.structures(dataset, known, group.instances[0].size[:2])
                return self._make_cases(instance, group, regions, dataset)
            images = DicomImages(file, name)
            group = self._referenced_group(images.dataset, instance)
            if group is None:
                return []
            places = {one.sop_instance: place for place, one in enumerate(group.instances)}
            if group.instances[0].frames > 1:
                places = {}
            size = group.instances[0].size[:2]
            regions = segmentations.segments(images, places, self._planes(group), size)
            return self._make_cases(instance, group, regions, images.dataset)

    def _referenced_group(self, dataset: Dataset, instance: DicomInstance) -> DicomInstanceGroup | None:
        """The group most of the references lead to, else a volume in the same frame of reference."""
        counts: dict[int, int] = {}
        for uid in referenced_instances(dataset):
            for group in self._groups_of_instance.get(uid, ()):
                counts[id(group)] = counts.get(id(group), 0) + 1
        best = max(counts.values(), default=0)
        candidates = [
            group
            for group in self._groups
            if (best and counts.get(id(group)) == best)
            or (
                not best
                and group.is_volume
                and instance.frame_of_reference
                and group.instances[0].frame_of_reference == instance.frame_of_reference
                and group.instances[0].patient == instance.patient
            )
        ]
        return candidates[0] if candidates else None

    def _planes(self, group: DicomInstanceGroup) -> list[SlicePlane | None]:
        """Where each slice or frame of a group lies."""
        if group.instances[0].frame_headers:
            return list(group.planes)
        if group.instances[0].frames == 1:
            return [one.plane for one in group.instances]
        path = group.instances[0].path
        with self._source.stream(path) as file:
            dataset = open_dicom(file, self._source.label(path)).dataset
            return [slice_plane(dataset, frame) for frame in range(group.instances[0].frames)]

    def _make_cases(
        self,
        instance: DicomInstance,
        group: DicomInstanceGroup,
        regions: Sequence[NamedRegion],
        dataset: Dataset,
    ) -> list[FoundCase]:
        identity = Identity.of_patient(dataset)
        return [
            self._region_case(instance, group, number, one.region, *_called(one, number, identity))
            for number, one in enumerate(regions, start=1)
        ]

    def _cases_of_cad_marks(self, instance: DicomInstance, dataset: Dataset) -> list[FoundCase]:
        found = []
        identity = Identity.of_patient(dataset)
        for number, mark in enumerate(cad_marks.cad_marks(dataset), start=1):
            groups = self._groups_of_instance.get(mark.instance, [])
            if not groups:
                continue
            frame = mark.frame or 0
            group = next((one for one in groups if frame in one.frames), groups[0])
            region, z = mark.region, None
            if group.instances[0].frame_headers:
                frames = group.frames or order_of(group.instances[0].frame_headers)
                z = frames.index(frame) if frame in frames else 0
            elif group.instances[0].frames > 1:
                z = frame
            elif group.is_volume:
                z = [one.sop_instance for one in group.instances].index(mark.instance)
            rows, columns = group.instances[0].size[:2]
            try:
                part = region.clipped(rows, columns)
            except BadInput:
                continue
            part = Region(part.x, part.y, part.width, part.height, part.outline, z)
            kind = "" if identity.is_word_of(mark.kind) else mark.kind
            found.append(
                self._region_case(instance, group, number, part, kind, "", mark.code if kind else None)
            )
        return found

    def _region_case(
        self,
        instance: DicomInstance,
        group: DicomInstanceGroup,
        number: int,
        region: Region,
        label: str,
        kind: str,
        code: tuple[str, str] | None = None,
    ) -> FoundCase:
        one_frame = not group.is_volume and group.instances[0].frames == 1
        if one_frame:
            region = Region(region.x, region.y, region.width, region.height, region.outline)
        parent = self._key(group.key, group.instances[0])
        attributes = {**instance.attributes, "of": parent, "segment": label, "type": kind}
        if code is not None and label and (given := standard_code(*code, label)) is not None:
            attributes |= stored_codes([given])
        return FoundCase(
            f"{self._key(instance.path, instance)}#{number}",
            instance.path,
            finding=label or None,
            patient=instance.patient,
            region=region,
            attributes={name: value for name, value in attributes.items() if value},
            slices=group.slices,
        )

    def _unlinked_case(self, instance: DicomInstance, reason: str) -> FoundCase:
        return FoundCase(
            self._key(instance.path, instance),
            instance.path,
            patient=instance.patient,
            attributes={**instance.attributes, "regions": reason},
        )

    def _key(self, key: str, instance: DicomInstance) -> str:
        return case_key(key, instance.modality, self._source.pseudonyms)


def _called(region: NamedRegion, number: int, identity: Identity) -> tuple[str, str, tuple[str, str] | None]:
    """The label and the kind of a part, and its code where the label is the kind; people type names of patients there
    too, which are left out."""
    kind = "" if identity.is_word_of(region.kind) else region.kind
    label = region.label or region.kind
    if identity.is_word_of(label):
        label = kind or tr_lazy("part {number}", number=number)
    return label, kind, region.code if label == kind else None


def _without_paths(message: str, name: str) -> str:
    """A reason that is stored with the case, without folders, whose names may be those of patients."""
    return message.replace(f"'{name}'", "The file")


#: Names that promise a DICOM file.
SUFFIXES = frozenset((".dcm", ".dic", ".dicom", ".ima"))

_SAMPLED_FILES = 24
#: Different images with one SOP instance UID, as from programs that write it into every file, after which it tells
#: nothing: others are not compared with them.
_MOST_SHARING = 8
_CHECK_EVERY = 50


@dataclass
class _ScannedHeaders:
    """What a pass over the headers gave."""

    images: list[DicomInstance] = field(default_factory=list)
    regions: list[DicomInstance] = field(default_factory=list)
    rejected: list[RejectedFile] = field(default_factory=list)


class DicomImporter(Importer):
    """Any tree of DICOM files.

    Slices of one series that lie behind each other are one case, a multi-frame object is one, any other
    image one. Segments, RT structures and CAD marks are cases with a region of the volume or image they
    refer to. A ``labels.csv`` gives findings and takes precedence over the patient in the headers. A DICOMDIR is read
    but never followed: the files are those that lie in the folder. Unless ids are kept, neither headers nor
    names of folders reach a case: its id is a stand-in for its path.
    """

    kind = "dicom"
    reads_headers = paths_name_patients = True
    title = "DICOM"
    summary = "CT, MR, mammograms, ultrasound ... of any folder or zip; series become volumes."

    def recognise(self, source: Source) -> Recognition | None:
        """By the first bytes of a few files that are named like DICOM files or have no ending."""
        entries = [entry for entry in source.entries() if not is_label_table(entry.path or ".")]
        named = [entry for entry in entries if _has_dicom_name(source.label(entry.path))]
        others = [entry for entry in entries if not PurePosixPath(source.label(entry.path)).suffix]
        step = max(1, len(named or others) // _SAMPLED_FILES)
        sampled = (named or others)[::step][:_SAMPLED_FILES]
        dicom_count = 0
        for entry in sampled:
            try:
                dicom_count += sniff(source.head(entry.path)) == DICOM
            except BadInput:
                continue
        if not dicom_count:
            return None
        count = len(named or others)
        image_count = sum(has_image_name(source.label(entry.path)) for entry in entries)
        what = tr_lazy_n("{n} DICOM file", "{n} DICOM files", count)
        is_certain = 2 * dicom_count >= len(sampled) and count >= image_count
        return Recognition(0.85 if is_certain else 0.3, tr_lazy("{what}; series become volumes.", what=what))

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each series that is a volume, each other object and each marked region."""
        yield from ignored_files(source)
        found = _ScannedHeaders()
        for number, entry in enumerate(source.entries()):
            if number % _CHECK_EVERY == 0:
                reporter.check_cancelled()
            if not (entry.path and is_label_table(entry.path)):
                _read_header(source, entry, found)
        yield from found.rejected
        listing = read_label_tables(source, [one.path for one in found.images])
        copies, ambiguous = _take_out_copies(source, found, reporter)
        yield from copies.values()
        yield from listing.rejected
        groups = group_instances(
            found.images,
            lambda key, modality: source.known_slices(case_key(key, modality, source.pseudonyms)),
            reading_order=True,
        )
        for group in groups:
            paths = [one.path for one in group.instances]
            if not ambiguous.isdisjoint(paths):
                group.problems.append(tr_lazy("other images have the same SOP instance UID"))
            paths += [path for path, copy in copies.items() if copy.of in paths]
            lines = [line for path in paths for line in listing.lines.get(path, ())]
            yield _case(group, lines[0] if lines else None, source)
            for line in lines[1:]:
                if line.finding != lines[0].finding:
                    yield RejectedFile(
                        line.where, tr_lazy("Another line gives the finding of this series."), failed=True
                    )
        regions = RegionFinder(source, groups)
        for one in found.regions:
            reporter.check_cancelled()
            yield from regions.cases(one)


@dataclass(frozen=True)
class _Copy(RejectedFile):
    """A file with the same object as the file ``of``."""

    of: str = ""


def _take_out_copies(
    source: Source, found: _ScannedHeaders, reporter: Reporter
) -> tuple[dict[str, _Copy], set[str]]:
    """The files that repeat an object, taken out of the images; and those with one SOP instance UID that differ."""
    from semblance.core.imaging.dicom.compare_objects import compare_objects

    first_of: dict[str, list[DicomInstance]] = {}
    copies: dict[str, _Copy] = {}
    ambiguous: set[str] = set()
    for one in found.images:
        others = first_of.setdefault(one.sop_instance, []) if one.sop_instance else []
        of_series = [other for other in others if (other.study, other.series) == (one.study, one.series)]
        for other in of_series if len(others) < _MOST_SHARING else ():
            reporter.check_cancelled()
            with source.stream(other.path) as kept, source.stream(one.path) as file:
                differences = compare_objects(kept, file, source.label(one.path))
            if differences.is_same_image:
                reason = tr_lazy(
                    "A duplicate of '{path}', with the same pixels", path=source.label(other.path)
                )
                if differences:
                    reason = tr_lazy("{reason}; {change}", reason=reason, change=differences.describe())
                copies[one.path] = _Copy(one.path, tr_lazy("{reason}.", reason=reason), False, other.path)
                break
        else:
            ambiguous.update({others[0].path, one.path} if others else ())
            others.append(one)
    found.images = [one for one in found.images if one.path not in copies]
    return copies, ambiguous


def _has_dicom_name(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES or path.name.upper() == "DICOMDIR"


def _read_header(source: Source, entry: Entry, found: _ScannedHeaders) -> None:
    name = source.label(entry.path)
    try:
        with source.stream(entry.path) as file:
            head = file.read(HEAD_BYTES)
            if sniff(head) != DICOM:
                found.rejected.append(_reject_other_file(source, entry, head))
                return
            opened = open_dicom(file, name, (*HEADER_TAGS, "DirectoryRecordSequence"))
            if "DirectoryRecordSequence" in opened.dataset:
                found.rejected.append(_reject_directory(source, entry, name, named_files(opened.dataset)))
                return
            instance = read_instance(
                entry.path, opened.dataset, pixels=bool(opened.pixels), pseudonyms=source.pseudonyms
            )
    except BadInput as error:
        found.rejected.append(RejectedFile(entry.path or name, str(error), failed=True))
        return
    if marks_regions(instance):
        found.regions.append(instance)
    elif instance.pixels:
        found.images.append(instance)
    else:
        what = instance.modality or tr_lazy("unknown kind")
        reason = tr_lazy("A DICOM object without pixels ({what}).", what=what)
        found.rejected.append(RejectedFile(entry.path or name, reason, failed=False))


def _reject_other_file(source: Source, entry: Entry, head: bytes) -> RejectedFile:
    name = source.label(entry.path)
    if head.startswith(b"PK\x03\x04") or entry.path in source.closed_zips:
        closed = source.closed_zips.get(entry.path)
        inside = source.kind == "zip" or divide_zip_entry(entry.path)[1]
        reason = closed or (
            tr_lazy("a zip archive within a zip archive; unpack it and import the folder")
            if inside
            else tr_lazy("a zip archive without DICOM files")
        )
        return RejectedFile(
            entry.path or name,
            tr_lazy("Not opened: {reason}.", reason=reason.rstrip(".")),
            failed=closed is not None,
        )
    if _has_dicom_name(name):
        what = (
            tr_lazy("it is empty (0 bytes)")
            if not head
            else tr_lazy("it seems to be {head}", head=foreign_format(head))
        )
        return RejectedFile(
            entry.path or name, tr_lazy("Named like a DICOM file, but {what}.", what=what), failed=True
        )
    what = tr_lazy("it is empty") if not head else tr_lazy("it seems to be {head}", head=foreign_format(head))
    return RejectedFile(entry.path or name, tr_lazy("Not a DICOM file: {what}.", what=what), failed=False)


def _reject_directory(
    source: Source, entry: Entry, name: str, named: tuple[list[str], list[str]]
) -> RejectedFile:
    """The entries of a DICOMDIR compared with the files that exist."""
    files, refused = named
    folder = entry.path[: len(entry.path) - len(PurePosixPath(entry.path).name)]
    existing = {other.path.casefold() for other in source.entries()}
    missing = [path for path in files if (folder + path).casefold() not in existing]
    reason = tr_lazy(
        "The directory of a DICOM medium: it names {n}", n=tr_lazy_n("{n} file", "{n} files", len(files))
    )
    if missing:
        reason = tr_lazy(
            "{reason}, of which {n} are missing ('{missing}')",
            reason=reason,
            n=len(missing),
            missing=missing[0],
        )
    if refused:
        reason = tr_lazy(
            "{reason}; {n} outside its folder are not read ('{refused}')",
            reason=reason,
            n=len(refused),
            refused=refused[0],
        )
    return RejectedFile(entry.path or name, tr_lazy("{reason}.", reason=reason), failed=False)


def _case(group: DicomInstanceGroup, line: LabelTableLine | None, source: Source) -> FoundCase:
    first = group.instances[0]
    attributes = dict(first.attributes)
    if len(group.instances) > 1:
        attributes.pop("instance", None)
    if group.problems:
        attributes["geometry"] = "; ".join(group.problems)
    pseudonyms, patient = source.pseudonyms, line.patient if line is not None else None
    if patient and pseudonyms is not None:
        # A list beside the files calls patients what their headers do.
        patient = pseudonyms.patient(patient)
    return FoundCase(
        (line.case_id if line is not None else "")
        or case_key(group.key or source.label(""), first.modality, pseudonyms),
        first.path,
        finding=line.finding if line is not None else None,
        patient=patient or first.patient,
        attributes=attributes | (line.attributes if line is not None else {}),
        slices=group.slices if group.is_volume else (),
    )
