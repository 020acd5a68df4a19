"""Numbers of a header that are present but not written as the standard says: what was read instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from semblance.core.imaging.dicom.attributes import Numbers, item, items, read_numbers, tag_of
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

_SHOWN = 40
#: The numbers that images and volumes are read by.
KEYWORDS = (
    *("RescaleSlope", "RescaleIntercept", "DoseGridScaling", "WindowCenter", "WindowWidth"),
    *("PixelPaddingValue", "PixelPaddingRangeLimit", "LUTDescriptor"),
    *("PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing", "PixelAspectRatio"),
    *("EstimatedRadiographicMagnificationFactor", "PhysicalDeltaX", "PhysicalDeltaY"),
    *("PhysicalUnitsXDirection", "PhysicalUnitsYDirection", "GridFrameOffsetVector"),
    *("SpacingBetweenSlices", "SliceThickness", "ImagePositionPatient", "ImageOrientationPatient"),
    *("Rows", "Columns", "SamplesPerPixel", "NumberOfFrames", "BitsAllocated", "BitsStored", "HighBit"),
    *("PixelRepresentation", "PlanarConfiguration", "InstanceNumber"),
)
#: Numbers that are above 0, and how many an element must have.
_POSITIVE = ("PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing")
_COUNTS = dict.fromkeys(_POSITIVE, 2) | {
    "ImagePositionPatient": 3,
    "ImageOrientationPatient": 6,
    "LUTDescriptor": 3,
}
_SCALES = ("RescaleSlope", "RescaleIntercept", "DoseGridScaling")
_GROUPS = (
    "PixelValueTransformationSequence",
    "FrameVOILUTSequence",
    "PixelMeasuresSequence",
    "PlanePositionSequence",
    "PlaneOrientationSequence",
)


def number_remarks(dataset: Dataset, frame: int = 0) -> tuple[str, ...]:
    """A sentence for every number of the header, or of the groups of ``frame``, that is not as the standard writes
    it."""
    return tuple(
        dict.fromkeys(
            _sentence(keyword, found)
            for part in _parts(dataset, frame)
            for keyword in KEYWORDS
            if (found := read_numbers(part, keyword)).written or _is_impossible(keyword, found.values)
        )
    )


def _is_impossible(keyword: str, values: tuple[float, ...]) -> bool:
    if not values:
        return False
    is_wrong_count = len(values) != _COUNTS.get(keyword, len(values))
    is_zero = (keyword in _POSITIVE and min(values) <= 0) or (keyword == "RescaleSlope" and values[0] == 0)
    return is_wrong_count or is_zero


def _sentence(keyword: str, found: Numbers) -> str:
    from pydicom.datadict import dictionary_description

    name, read = dictionary_description(tag_of(keyword)), "\\".join(f"{number:g}" for number in found.values)
    written = "".join(one if one.isprintable() else " " for one in (found.written or read)[:_SHOWN])
    if keyword == "RescaleSlope" and found.values[:1] == (0.0,):
        return tr_lazy(
            "{name} '{written}' is not possible, so the values are shown as they are stored, without a unit.",
            name=name,
            written=written,
        )
    if _is_impossible(keyword, found.values):
        return tr_lazy("{name} '{written}' is not possible and is left out.", name=name, written=written)
    if found.values:
        return tr_lazy(
            "{name} is written as '{written}', not as DICOM writes numbers. It is read as {read}.",
            name=name,
            written=written,
            read=read,
        )
    if keyword in _SCALES:
        return tr_lazy(
            "{name} '{written}' is not a number, so the values are shown as they are stored, without a unit.",
            name=name,
            written=written,
        )
    return tr_lazy("{name} '{written}' is not a number and is left out.", name=name, written=written)


def _parts(dataset: Dataset, frame: int) -> Iterator[Dataset]:
    yield dataset
    for keyword in ("ModalityLUTSequence", "VOILUTSequence", "SequenceOfUltrasoundRegions"):
        yield from items(dataset, keyword)
    per_frame = items(dataset, "PerFrameFunctionalGroupsSequence")
    own = per_frame[frame] if frame < len(per_frame) else None
    for groups in (own, item(dataset, "SharedFunctionalGroupsSequence")):
        for keyword in _GROUPS:
            yield from items(groups, keyword)[:1]
