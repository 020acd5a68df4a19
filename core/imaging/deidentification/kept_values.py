"""Check what the profile keeps: that no name and no id is in it, and that it is what its value representation says."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from semblance.core.imaging.deidentification.colour_profiles import without_texts
from semblance.core.imaging.dicom.case_attributes import is_defined
from semblance.core.imaging.dicom.identity import LONGEST_NUMBER, Identity

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.dataelem import DataElement

#: What stands in place of a text that must not be empty.
REMOVED = "REMOVED"
BYTES = frozenset(("OB", "OW", "OF", "OD", "OL", "OV", "UN"))
TEXTS = frozenset(("AE", "CS", "LO", "LT", "SH", "ST", "UC", "UR", "UT", "PN"))
#: Byte values of an image, a waveform, a surface or a spectrum. The standard has others that hold documents,
#: signatures, notes of cameras and encrypted headers.
_MEASURED = frozenset(
    (
        "AnnotationIndexList", "BlendingLookupTableData", "BlockEdgeData", "ChannelMaximumValue", "ChannelMinimumValue",
        "CompensatorDistalThicknessMap", "CompensatorProximalThicknessMap", "DoubleFloatPixelData",
        "DoublePointCoordinatesData", "EdgePointIndexList", "ExtendedOffsetTable", "ExtendedOffsetTableLengths",
        "FillPattern", "FilterLookupTableData", "FirstOrderPhaseCorrectionAngle", "FloatPixelData",
        "FloatingPointValues", "GrayLookupTableData", "ICCProfile", "LUTData", "LongEdgePointIndexList",
        "LongPrimitivePointIndexList", "LongTrianglePointIndexList", "LongVertexPointIndexList", "OverlayData",
        "PixelData", "PointCoordinatesData", "PrimitivePointIndexList", "RecommendedDisplayCIELabValueList",
        "SpectroscopyData", "TrackPointIndexList", "TrianglePointIndexList",
        "TwoDimensionalToThreeDimensionalMapData", "UValueData", "VValueData", "VectorCoordinateData",
        "VectorGridData", "VertexPointIndexList", "VerticesOfThePolygonalOutline", "VolumetricCurvePoints",
        "VolumetricCurveUpDirections", "WaveformData", "WaveformPaddingValue",
        *(f"{prefix}{colour}PaletteColorLookupTableData" for prefix in ("", "Segmented") for colour in
          ("Red", "Green", "Blue", "Alpha")),
    )
)  # fmt: skip
#: Cleaned elsewhere: by :mod:`semblance.core.imaging.deidentification.repack_pixels`, and an overlay as a drawing.
_CLEANED_ELSEWHERE = frozenset(
    (
        "PixelData",
        "FloatPixelData",
        "DoubleFloatPixelData",
        "ExtendedOffsetTable",
        "ExtendedOffsetTableLengths",
        "OverlayData",
    )
)

_INTEGERS = {"UL": "I", "SL": "i", "US": "H", "SS": "h", "UV": "Q", "SV": "q", "FL": "f", "FD": "d"}
#: What a value of these must look like (PS3.5 table 6.2-1).
_FORMS = {
    "AS": re.compile(r"\d{1,3}[DWMY]?"),
    "DA": re.compile(r"\d{4}[.-]?\d{2}[.-]?\d{2}"),
    "TM": re.compile(r"\d{2}:?(?:\d{2}:?(?:\d{2}(?:\.\d{1,6})?)?)?"),
    "DT": re.compile(r"\d{4,14}(?:\.\d{1,6})?(?:[+-]\d{4})?"),
    "UI": re.compile(r"[0-9]+(?:\.[0-9]+)*"),
    "IS": re.compile(r"[+-]?\d{1,11}(?:\.0*)?"),
    "DS": re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"),
}


class KeptValues:
    """Checks elements against the names and ids of an object.

    ``map_uid`` gives the stand-in for a UID that has an id in it.
    """

    def __init__(self, identity: Identity, map_uid: Callable[[str], str]) -> None:
        self._identity, self._map_uid = identity, map_uid

    def clean(self, dataset: Dataset, element: DataElement, *, any_date: bool = False) -> str:
        """Remove from ``dataset`` what must not be in ``element``; what was done, "" for nothing. ``any_date``: a date
        was moved or is kept on purpose, and may be that of a birth."""
        representation = element.VR
        # In implicit files the kind of some numbers is told by others, and unknown where those are missing.
        if representation in BYTES or isinstance(element.value, bytes):
            return self._clean_bytes(dataset, element)
        values = [one for one in _values(element) if one is not None and one != ""]
        if not values:
            return ""
        if representation in TEXTS:
            return self._clean_text(element, values)
        if representation in _FORMS:
            return self._clean_formed(element, values, any_date=any_date)
        return self._clean_numbers(element, values) if representation in _INTEGERS else ""

    def _clean_bytes(self, dataset: Dataset, element: DataElement) -> str:
        content = element.value
        if not isinstance(content, bytes):
            return ""
        if not element.tag.is_private and element.keyword not in _MEASURED and element.tag.group >> 8 != 0x60:
            del dataset[element.tag]
            return "removed"
        if element.keyword in _CLEANED_ELSEWHERE:
            return ""
        cleaned = without_texts(content) if element.keyword == "ICCProfile" else _exact(dataset, element)
        if not cleaned or self._identity.is_in_bytes(cleaned):
            if content:
                del dataset[element.tag]
            return "removed" if content else ""
        if cleaned == content:
            return ""
        element.value = cleaned
        return "cleaned"

    def _clean_text(self, element: DataElement, values: list[Any]) -> str:
        if element.VR == "CS":
            kept = [one if self._is_code(element.keyword, str(one)) else REMOVED for one in values]
            if kept == [str(one) for one in values]:
                return ""
            element.value = kept if len(kept) > 1 else kept[0]
            return "replaced"
        if any(self._identity.is_in(str(one)) for one in values):
            element.value = REMOVED
            return "replaced"
        return ""

    def _is_code(self, keyword: str, value: str) -> bool:
        return is_defined(keyword, value) or not self._identity.is_word_of(value)

    def _clean_formed(self, element: DataElement, values: list[Any], *, any_date: bool) -> str:
        written = [_written(one) for one in values]
        form = _FORMS[element.VR]
        if all(form.fullmatch(one) for one in written):
            found = [one for one in written if self._has_id(element.VR, one, any_date=any_date)]
            if not found:
                return ""
            if element.VR == "UI":
                mapped = [self._map_uid(one) if one in found else one for one in written]
                element.value = mapped if len(mapped) > 1 else mapped[0]
                return "replaced"
        element.value = self._map_uid(written[0]) if element.VR == "UI" else None
        return "replaced" if element.VR == "UI" else "emptied"

    def _has_id(self, representation: str, written: str, *, any_date: bool) -> bool:
        if representation in ("DA", "DT"):
            return not any_date and self._identity.is_in(written[:8])
        if representation == "UI":
            parts = written.split(".")
        elif representation in ("IS", "DS"):
            parts = [written.lstrip("+-")]
        else:
            return False
        numbers = (int(part) for part in parts if part.isdigit() and len(part) <= LONGEST_NUMBER)
        return any(map(self._identity.has_number, numbers))

    def _clean_numbers(self, element: DataElement, values: list[Any]) -> str:
        letter = _INTEGERS[element.VR]
        is_id = letter in "IiQq" and any(self._identity.has_number(one) for one in values)
        try:
            packed = [struct.pack(f"{order}{len(values)}{letter}", *values) for order in "<>"]
        except (struct.error, TypeError, OverflowError):
            packed = []
        if not is_id and not any(self._identity.is_in_bytes(one) for one in packed if len(one) > 4):
            return ""
        element.value = None
        return "emptied"


def _values(element: DataElement) -> list[Any]:
    value = element.value
    return list(value) if element.VM > 1 else [value]


def _written(value: Any) -> str:
    """A value as the file has it: pydicom keeps the text of decimals and integers beside the number."""
    return str(getattr(value, "original_string", None) or value).strip(" \0")


def _exact(dataset: Dataset, element: DataElement) -> bytes:
    """The bytes that other attributes of the item count, if they do: those of a table, or of a waveform."""
    content: bytes = element.value
    size = None
    if element.keyword == "WaveformData":
        bits, channels, samples = (
            dataset.get(keyword)
            for keyword in ("WaveformBitsAllocated", "NumberOfWaveformChannels", "NumberOfWaveformSamples")
        )
        if isinstance(bits, int) and isinstance(channels, int) and isinstance(samples, int):
            size = bits // 8 * channels * samples
    elif not element.keyword.startswith("Segmented"):
        described = dataset.get(element.keyword.replace("Data", "Descriptor"))
        if described is not None and element.keyword.endswith(("TableData", "LUTData")):
            size = 2 * (int(described[0]) or 1 << 16)
    if size is None or size >= len(content):
        return content
    return content[: size + size % 2]
