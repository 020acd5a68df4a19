"""Headers of a source's DICOM files, put together into volumes and single objects."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from semblance.core.imaging.dicom import burnt_in_text, patient_identity
from semblance.core.imaging.dicom.attributes import case_attributes, integer, numbers, text
from semblance.core.imaging.dicom.descriptions import clean_description
from semblance.core.imaging.dicom.geometry import SlicePlane, gaps_in, slice_plane
from semblance.core.imaging.pseudonyms import Pseudonyms
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
HEADER_TAGS = (
    *patient_identity.TAGS,
    *patient_identity.NAMING,
    *burnt_in_text.TAGS,
    "SpecificCharacterSet",
    "SOPClassUID",
    "SOPInstanceUID",
    "SeriesInstanceUID",
    "SeriesDescription",
    "StudyDescription",
    "ProtocolName",
    "StationName",
    "InstitutionName",
    "ConvolutionKernel",
    "SliceThickness",
    "SeriesNumber",
    "InstanceNumber",
    "AcquisitionNumber",
    "EchoNumbers",
    "TemporalPositionIdentifier",
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


@dataclass(frozen=True)
class Instance:
    """The header of one file; ``pixels`` is False if it has none."""

    path: str
    sop_class: str
    sop_instance: str
    study: str
    series: str
    modality: str
    patient: str | None
    frames: int
    size: tuple[int, int, int]
    order: tuple[int, ...]
    frame_of_reference: str
    plane: SlicePlane | None
    attributes: dict[str, str]
    pixels: bool


@dataclass
class InstanceGroup:
    """Instances that are one case: a volume in order, or a single object; ``problems``: inconsistencies."""

    key: str
    instances: list[Instance]
    problems: list[str] = field(default_factory=list)

    @property
    def is_volume(self) -> bool:
        """Whether the group has several slices."""
        return len(self.instances) > 1


def read_instance(path: str, dataset: Dataset, *, pixels: bool, pseudonyms: Pseudonyms | None) -> Instance:
    """The stored part of a header; never a patient's name.

    ``patient`` and ``attributes`` are what the catalogue gets: with ``pseudonyms`` the patient's id and all
    UIDs are replaced, the date is moved, ages above 90 are 90, the station and the institution are codes, and of
    descriptions only words that cannot identify anybody stay. The other UIDs put files together and go no further.
    """
    patient, date = patient_identity.patient_of(dataset), patient_identity.date_of(dataset)
    header = case_attributes(dataset) | {
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
    if pseudonyms is not None:
        for name in ("study", "series", "instance"):
            attributes[name] = header[name] and pseudonyms.uid(header[name])
        for name in _TYPED:
            attributes[name] = clean_description(header[name], dataset)
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
    order_keywords = ("TemporalPositionIdentifier", "EchoNumbers", "AcquisitionNumber", "InstanceNumber")
    return Instance(
        path,
        text(dataset, "SOPClassUID"),
        header["instance"],
        header["study"],
        header["series"],
        header["modality"],
        patient,
        max(1, integer(dataset, "NumberOfFrames") or 1),
        (
            integer(dataset, "Rows") or 0,
            integer(dataset, "Columns") or 0,
            integer(dataset, "SamplesPerPixel") or 1,
        ),
        tuple(integer(dataset, keyword) or 0 for keyword in order_keywords),
        text(dataset, "FrameOfReferenceUID"),
        slice_plane(dataset),
        {name: value for name, value in attributes.items() if value},
        pixels,
    )


def _thickness(dataset: Dataset) -> str:
    """The thickness of a slice in mm; "" where the header lacks it."""
    thickness = numbers(dataset, "SliceThickness")
    return f"{thickness[0]:g}" if thickness and thickness[0] > 0 else ""


def group_instances(instances: Iterable[Instance]) -> list[InstanceGroup]:
    """Volumes and single objects, in the order of their first files.

    Slices of one series, size, direction and frame of reference are a volume. Several in one place (echoes,
    phases, copies) become volumes of their own, each with one slice a place.
    """
    series: dict[_SeriesKey, list[Instance]] = {}
    single: list[Instance] = []
    for found in instances:
        if (
            found.plane is None
            or found.frames > 1
            or not found.series
            or found.modality not in VOLUME_MODALITIES
        ):
            single.append(found)
            continue
        key = (found.series, found.size, found.plane.orientation, found.frame_of_reference)
        series.setdefault(key, []).append(found)
    directions: dict[str, int] = {}
    for key in series:
        directions[key[0]] = directions.get(key[0], 0) + 1
    groups = [InstanceGroup(found.path, [found]) for found in single]
    for key, members in series.items():
        stacks = _stacks(members)
        for number, stack in enumerate(stacks):
            if len(stack) == 1:
                groups.append(InstanceGroup(stack[0].path, stack))
                continue
            problems = []
            if directions[key[0]] > 1:
                problems.append(
                    tr_lazy("the series has {directions} directions or sizes", directions=directions[key[0]])
                )
            if len(stacks) > 1:
                problems.append(tr_lazy("{n} slices in one place", n=len(stacks)))
            gaps = gaps_in([one.plane for one in stack if one.plane is not None])
            if gaps:
                shown = ", ".join(str(gap + 1) for gap in gaps[:8]) + (", ..." if len(gaps) > 8 else "")
                problems.append(tr_lazy("uneven or missing slices after number {shown}", shown=shown))
            groups.append(InstanceGroup(_series_key(key, stack, number), stack, problems))
    return groups


def case_key(key: str, modality: str, pseudonyms: Pseudonyms | None) -> str:
    """The key of a case in the catalogue: ``key``, or a stand-in for it, since folders are called after
    patients; as stable as ``key`` is."""
    if pseudonyms is None:
        return key
    kind = modality.lower() if re.fullmatch(r"[A-Za-z]{2,8}", modality) else "picture"
    return f"{kind}-{pseudonyms.case(key)}"


def _stacks(members: Sequence[Instance]) -> list[list[Instance]]:
    """The members by height, those in one place dealt out to piles."""
    places: dict[float, list[Instance]] = {}
    for member in members:
        assert member.plane is not None
        places.setdefault(round(member.plane.height, 2), []).append(member)
    stacks: list[list[Instance]] = []
    for place in sorted(places):
        for number, member in enumerate(sorted(places[place], key=lambda one: (one.order, one.path))):
            if number == len(stacks):
                stacks.append([])
            stacks[number].append(member)
    return stacks


def _series_key(key: _SeriesKey, stack: Sequence[Instance], number: int) -> str:
    """The folder of the slices and a short mark of the series, the same whenever it is imported."""
    folder = os.path.commonpath([f"/{member.path}" for member in stack]).strip("/")
    mark = hashlib.blake2b(repr(key).encode(), digest_size=4).hexdigest()
    name = f"{(stack[0].modality or 'series').lower()}-{mark}" + (f"-{number + 1}" if number else "")
    return f"{folder}/{name}" if folder else name
