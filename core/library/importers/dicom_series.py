"""Headers of a source's DICOM files, put together into volumes and single objects."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from semblance.core.imaging.dicom import burnt_in_text, identity, patient_identity
from semblance.core.imaging.dicom.attributes import integer, numbers, text
from semblance.core.imaging.dicom.case_attributes import case_attributes
from semblance.core.imaging.dicom.descriptions import clean_description, is_harmless
from semblance.core.imaging.dicom.geometry import gaps_in, is_in_reading_order, slant_of
from semblance.core.imaging.dicom.volumes import (
    TAGS,
    FoundVolume,
    SliceHeader,
    find_volumes,
    frame_headers,
    mixed_marks,
    order_of,
    same_direction,
    slice_header,
)
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

#: Modalities whose slices of one series are a volume.
VOLUME_MODALITIES = frozenset(("CT", "MR", "PT", "NM", "OT", "US", ""))

#: Attributes with text that people typed.
_TYPED = ("series_description", "study_description", "protocol", "kernel")
#: Older patients are given this age unless identified: few people are as old (PS3.15).
_OLDEST_AGE = 90
#: All that is read of a file to place it.
HEADER_TAGS: tuple[str | int, ...] = (
    *patient_identity.TAGS,
    *identity.NAMING,
    *burnt_in_text.TAGS,
    *TAGS,
    "SpecificCharacterSet",
    "SOPClassUID",
    "SOPInstanceUID",
    "SeriesInstanceUID",
    "SeriesDescription",
    "StudyDescription",
    "ProtocolName",
    "StationName",
    "InstitutionName",
    "SeriesNumber",
    "Modality",
    "BodyPartExamined",
    "ViewPosition",
    "PatientSex",
    "PatientAge",
    "Manufacturer",
    "ImageLaterality",
    "Laterality",
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "NumberOfFrames",
    "Rows",
    "Columns",
    "SamplesPerPixel",
    "PhotometricInterpretation",
    "BitsAllocated",
    "BitsStored",
    "HighBit",
    "PixelRepresentation",
    "FrameOfReferenceUID",
)


#: Series, (rows, columns, samples), direction, frame of reference.
_SeriesKey = tuple[str, tuple[int, int, int], tuple[float, ...], str]
#: The slices, as (file, frame), of the case that a library has under a key, for one of a modality.
KnownSlices = Callable[[str, str], Sequence[tuple[str, int | None]]]


@dataclass(frozen=True)
class DicomInstance:
    """The header of one file; ``pixels`` is False if it has none.

    ``owner``: the patient's id and its issuer as the file has them, or the name where there is no id. They keep
    patients apart and go no further. ``header``: where its slice lies; ``frame_headers``: where each frame does, of an
    object that is one volume or several.
    """

    path: str
    sop_class: str
    sop_instance: str
    study: str
    series: str
    modality: str
    patient: str | None
    frames: int
    size: tuple[int, int, int]
    frame_of_reference: str
    header: SliceHeader | None
    attributes: dict[str, str]
    pixels: bool
    owner: tuple[str, str] = ("", "")
    frame_headers: tuple[SliceHeader, ...] = ()

    @property
    def plane(self) -> SlicePlane | None:
        """The plane of its slice, or of its first frame."""
        return None if self.header is None else self.header.plane


@dataclass
class DicomInstanceGroup:
    """Instances that are one case: a volume in order, or a single object; ``problems``: what is unusual about it.

    ``frames``: of a volume that is a part of one object, its frames in order.
    """

    key: str
    instances: list[DicomInstance]
    problems: list[str] = field(default_factory=list)
    frames: tuple[int, ...] = ()

    @property
    def is_volume(self) -> bool:
        """Whether the group has several slices, or one that is a part of a file."""
        return len(self.instances) > 1 or bool(self.frames)

    @property
    def slices(self) -> tuple[tuple[str, int | None], ...]:
        """(file, frame of it) of each slice, in order."""
        if self.frames:
            return tuple((self.instances[0].path, frame) for frame in self.frames)
        return tuple((one.path, None) for one in self.instances)

    @property
    def headers(self) -> list[SliceHeader]:
        """The header of each slice or frame, in their order, of those that say where they lie."""
        first = self.instances[0]
        if first.frame_headers:
            return [first.frame_headers[frame] for frame in self.frames or order_of(first.frame_headers)]
        return [one.header for one in self.instances if one.header is not None]

    @property
    def planes(self) -> list[SlicePlane]:
        """The plane of each of :attr:`headers`."""
        return [one.plane for one in self.headers]


def read_instance(
    path: str, dataset: Dataset, *, pixels: bool, pseudonyms: Pseudonyms | None
) -> DicomInstance:
    """The stored part of a header; never a patient's name.

    ``patient`` and ``attributes`` are what the catalogue gets: with ``pseudonyms`` the patient's id and all
    UIDs are replaced, the date is moved, ages above 90 are 90, the station and the institution are codes, and of
    descriptions only words that cannot identify anybody stay. The other UIDs put files together and go no further.
    """
    patient, date = patient_identity.patient_of(dataset), patient_identity.date_of(dataset)
    named = identity.Identity.of_patient(dataset)
    header = case_attributes(dataset, named) | {
        "study": text(dataset, "StudyInstanceUID"),
        "series": text(dataset, "SeriesInstanceUID"),
        "instance": text(dataset, "SOPInstanceUID"),
        "series_number": text(dataset, "SeriesNumber"),
        "slice_thickness": _thickness(dataset),
        "series_description": text(dataset, "SeriesDescription"),
        "study_description": text(dataset, "StudyDescription"),
        "protocol": text(dataset, "ProtocolName"),
        "kernel": text(dataset, "ConvolutionKernel"),
        "station": text(dataset, "StationName"),
    }
    keys = patient_identity.patient_keys(dataset)
    attributes = header | {"burnt_in_text": burnt_in_text.burnt_in_text(dataset)}
    for name in (*_TYPED, "series_number", "station"):
        # Names are not stored, not even with the other identifiers.
        if named.is_in(header[name]) or (pseudonyms is not None and name in _TYPED):
            attributes[name] = clean_description(header[name], named)
    if pseudonyms is not None:
        for name in ("study", "series", "instance"):
            attributes[name] = header[name] and pseudonyms.uid(header[name])
        # The name of the institution is not stored, not even with the other identifiers.
        places = {"station": header["station"], "institution": text(dataset, "InstitutionName")}
        attributes |= {name: place and pseudonyms.place(place) for name, place in places.items()}
        if header["age"].rstrip("Yy").isdigit() and int(header["age"].rstrip("Yy")) > _OLDEST_AGE:
            attributes["age"] = f"{_OLDEST_AGE:03d}Y"
        date = pseudonyms.date(date, patient) if date is not None and patient is not None else None
        patient = pseudonyms.patient(patient) if patient is not None else None
        keys = keys.replaced(pseudonyms)
    # By these the patient of an image from outside is recognised (core.library.same_patient).
    attributes |= {"issuer": keys.issuer, "order": keys.accession}
    if date is not None:
        attributes["date"] = date.isoformat()
    frames = max(1, integer(dataset, "NumberOfFrames") or 1)
    return DicomInstance(
        path,
        text(dataset, "SOPClassUID"),
        header["instance"],
        header["study"],
        header["series"],
        header["modality"],
        patient,
        frames,
        (
            integer(dataset, "Rows") or 0,
            integer(dataset, "Columns") or 0,
            integer(dataset, "SamplesPerPixel") or 1,
        ),
        text(dataset, "FrameOfReferenceUID"),
        slice_header(dataset),
        {name: value for name, value in attributes.items() if value},
        pixels,
        patient_identity.owner_of(dataset),
        tuple(frame_headers(dataset, frames) or ()),
    )


def _thickness(dataset: Dataset) -> str:
    """The thickness of a slice in mm; "" where the header lacks it."""
    thickness = numbers(dataset, "SliceThickness")
    return f"{thickness[0]:g}" if thickness and thickness[0] > 0 else ""


def group_instances(
    instances: Iterable[DicomInstance],
    known: KnownSlices = lambda _key, _modality: (),
    *,
    reading_order: bool = False,
) -> list[DicomInstanceGroup]:
    """Volumes and single objects, in the order of their files.

    Slices of one patient, study, series, size, direction and frame of reference are a volume, of which each place has
    one slice: phases, b-values, echoes and what else fills a place twice are volumes of their own. A case that is
    ``known`` keeps its key when others of its series come.

    Slices are in order along their normal, or in the ``reading_order`` of :func:`is_in_reading_order`; those of a case
    that is known keep their order.
    """
    found = sorted(instances, key=lambda one: one.path)
    owners = _owners(found)
    series: dict[tuple[Any, ...], list[DicomInstance]] = {}
    groups: list[DicomInstanceGroup] = []
    for one, owner in zip(found, owners, strict=True):
        if one.frame_headers:
            groups += _frame_groups(one, known, reading_order=reading_order)
        elif one.plane is None or one.frames > 1 or not one.series or one.modality not in VOLUME_MODALITIES:
            groups.append(DicomInstanceGroup(one.path, [one]))
        else:
            own_key = (one.series, one.study, owner, one.size, one.frame_of_reference)
            series.setdefault(own_key, []).append(one)
    named: dict[_SeriesKey, list[DicomInstanceGroup]] = {}
    kinds: dict[object, list[list[DicomInstanceGroup]]] = {}
    for (uid, study, owner, *_), members in sorted(series.items(), key=lambda part: repr(part[0])):
        for places in same_direction([one.plane for one in members if one.plane is not None]):
            own = [members[place] for place in places]
            seen = Counter(one.plane.orientation for one in own if one.plane is not None)
            direction = min(seen, key=lambda one: (-seen[one], one))
            volumes = _volumes(own)
            kinds.setdefault((uid, study, owner), []).append(volumes)
            named.setdefault((uid, own[0].size, direction, own[0].frame_of_reference), []).extend(volumes)
    for same_series in kinds.values():
        for group in (one for volumes in same_series if len(same_series) > 1 for one in volumes):
            if group.is_volume:
                several = tr_lazy(
                    "the series has {directions} directions or sizes", directions=len(same_series)
                )
                group.problems.append(several)
    for key, same in named.items():
        volumes = [group for group in same if group.is_volume]
        _name_volumes(key, volumes, known)
        for group in volumes:
            _order(group, known, reading_order=reading_order)
            group.problems += _problems(group)
    groups += sorted(
        (group for same in named.values() for group in same), key=lambda group: group.instances[0].path
    )
    _note_owners(groups, dict(zip((one.path for one in found), owners, strict=True)))
    return groups


def _volumes(members: Sequence[DicomInstance]) -> list[DicomInstanceGroup]:
    """The volumes, and the slices without others, of instances that have one direction."""
    found = list(find_volumes([one.header for one in members if one.header is not None]))
    groups = []
    for number, volume in enumerate(found, start=1):
        stack = [members[place] for place in volume.members]
        told_by = [_volume_title(volume, number, len(found))] if len(found) > 1 else []
        groups.append(DicomInstanceGroup(stack[0].path, stack, told_by))
    return groups


def _frame_groups(one: DicomInstance, known: KnownSlices, *, reading_order: bool) -> list[DicomInstanceGroup]:
    """An object with frames at several places: one case, or one for each of its volumes."""
    volumes = list(find_volumes(one.frame_headers))
    groups = []
    for number, volume in enumerate(volumes, start=1):
        key = f"{one.path}[{number}]" if number > 1 else one.path
        is_whole = len(volumes) == 1
        frames = tuple(order_of(one.frame_headers)) if is_whole else volume.members
        told_by = [] if is_whole else [_volume_title(volume, number, len(volumes))]
        group = DicomInstanceGroup(key, [one], told_by, frames)
        _order(group, known, reading_order=reading_order)
        if is_whole and (group.frames == frames or known(key, one.modality) == [(one.path, None)]):
            group.frames = ()
        group.problems += _problems(group)
        groups.append(group)
    return groups


def _order(group: DicomInstanceGroup, known: KnownSlices, *, reading_order: bool) -> None:
    """Turn the slices round where that is the order wanted, or the one they are known in."""
    first = group.instances[0]
    before = [one for one in known(group.key, first.modality) if one in group.slices]
    if len(before) > 1:
        turn = group.slices.index(before[0]) > group.slices.index(before[-1])
    else:
        turn = reading_order and not is_in_reading_order(group.planes)
    if turn:
        group.instances.reverse()
        group.frames = group.frames[::-1]


def _volume_title(volume: FoundVolume, number: int, n: int) -> str:
    # What is typed there, or when it was, may be about the patient.
    marks = ", ".join(f"{name} {value if _is_measure(value) else '-'}" for name, value in volume.told_by)
    if not marks:
        return tr_lazy("volume {number} of {n} of the series", number=number, n=n)
    return tr_lazy("volume {number} of {n} of the series ({marks})", number=number, n=n, marks=marks)


def _is_measure(value: str) -> bool:
    """Whether a value is small numbers or words of descriptions."""
    parts = re.split(r"[\s\\_]+", value)
    return all(is_harmless(part) or re.fullmatch(r"[+-]?\d{1,4}(?:\.\d{1,6})?", part) for part in parts)


def _problems(group: DicomInstanceGroup) -> list[str]:
    """What is unusual about the slices of a volume."""
    planes = group.planes
    problems = []
    gaps = gaps_in(planes)
    if gaps:
        shown = ", ".join(str(gap + 1) for gap in gaps[:8]) + (", ..." if len(gaps) > 8 else "")
        problems.append(tr_lazy("uneven or missing slices after number {shown}", shown=shown))
    slant = slant_of(planes)
    if slant is not None:
        problems.append(
            tr_lazy("shifted sideways from slice to slice")
            if slant == 0
            else tr_lazy("gantry tilt of {angle:.1f}°", angle=slant)
        )
    problems += [tr_lazy("mixed: {what}", what=what) for what in mixed_marks(group.headers)]
    if len({tuple(round(side, 3) for side in plane.spacing or ()) for plane in planes}) > 1:
        problems.append(tr_lazy("mixed: {what}", what=tr_lazy("pixel spacing")))
    return problems


def _name_volumes(key: _SeriesKey, groups: list[DicomInstanceGroup], known: KnownSlices) -> None:
    """Give volumes of one series their keys: first to each that is known the one it has, then to the others."""

    # A series can have hundreds of volumes, and each is compared with each that is known.
    names = [_series_key(key, group.instances) for group in groups]
    paths = [{one.path for one in group.instances} for group in groups]

    @functools.cache
    def known_paths(name: str, modality: str) -> set[str]:
        return {path for path, _ in known(name, modality)}

    def numbered(place: int, number: int) -> str:
        return f"{names[place]}-{number + 1}" if number else names[place]

    def shared(place: int, number: int) -> int:
        modality = groups[place].instances[0].modality
        return len(known_paths(numbered(place, number), modality) & paths[place])

    free, unnamed = list(range(len(groups))), list(range(len(groups)))
    for number in range(len(groups)):
        best = max(unnamed, key=lambda place: shared(place, number), default=0)
        if unnamed and shared(best, number):
            groups[best].key = numbered(best, number)
            free.remove(number)
            unnamed.remove(best)
    for number, place in zip(free, unnamed, strict=True):
        groups[place].key = numbered(place, number)


def _note_owners(groups: Sequence[DicomInstanceGroup], owners: dict[str, tuple[str, str]]) -> None:
    """Say on every case of a series UID that it is that of several patients or studies."""
    patients: dict[str, set[tuple[str, str]]] = {}
    studies: dict[str, set[str]] = {}
    for group in groups:
        first = group.instances[0]
        if first.series:
            patients.setdefault(first.series, set()).add(owners[first.path])
            studies.setdefault(first.series, set()).add(first.study)
    for group in groups:
        series = group.instances[0].series
        if len(patients.get(series, ())) > 1:
            n = len(patients[series])
            group.problems.insert(0, tr_lazy("{n} patients have this series UID", n=n))
        elif len(studies.get(series, ())) > 1:
            group.problems.insert(0, tr_lazy("{n} studies have this series UID", n=len(studies[series])))


def _owners(instances: Sequence[DicomInstance]) -> list[tuple[str, str]]:
    """The owner of each; an issuer that some files of a patient's series lack tells nobody apart."""
    issuers: dict[tuple[str, str], set[str]] = {}
    for one in instances:
        issuers.setdefault((one.series, one.owner[0]), set()).add(one.owner[1])
    return [
        one.owner if len(issuers[one.series, one.owner[0]] - {""}) > 1 else (one.owner[0], "")
        for one in instances
    ]


def case_key(key: str, modality: str, pseudonyms: Pseudonyms | None) -> str:
    """The key of a case in the catalogue: ``key``, or a stand-in for it, since folders are called after
    patients; as stable as ``key`` is."""
    if pseudonyms is None:
        return key
    kind = modality.lower() if re.fullmatch(r"[A-Za-z]{2,8}", modality) else "picture"
    return f"{kind}-{pseudonyms.case(key)}"


def _series_key(key: _SeriesKey, stack: Sequence[DicomInstance]) -> str:
    """The folder of the slices and a short mark of the series, the same whenever it is imported."""
    folder = os.path.commonpath([f"/{member.path}" for member in stack]).strip("/")
    mark = hashlib.blake2b(repr(key).encode(), digest_size=4).hexdigest()
    name = f"{(stack[0].modality or 'series').lower()}-{mark}"
    return f"{folder}/{name}" if folder else name
