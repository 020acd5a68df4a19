"""Check what the profile keeps: that no name and no id is in it, and that it is what its value representation says."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from semblance.core.imaging.dicom.case_attributes import is_defined
from semblance.core.imaging.dicom.identity import LONGEST_NUMBER, Identity

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.dataelem import DataElement

_HEADER, _ENTRY = 128, 12
_MOST_TAGS, _MOST_BYTES = 64, 4 << 20
#: White, adaptation, primaries, curves and tables, each with the types it may have: those whose length their numbers
#: tell, so that nothing lies between or behind them.
_CURVES, _TABLES = (b"curv", b"para"), (b"mft1", b"mft2")
_KEPT: dict[bytes, tuple[bytes, ...]] = {
    **dict.fromkeys((b"wtpt", b"bkpt", b"rXYZ", b"gXYZ", b"bXYZ", b"lumi"), (b"XYZ ",)),
    b"chad": (b"sf32",),
    **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC", b"kTRC"), _CURVES),
    **dict.fromkeys((b"A2B0", b"A2B1", b"A2B2", b"B2A0", b"B2A1", b"B2A2"), _TABLES),
}
#: Classes, colour spaces and connection spaces that images have.
_CLASSES, _SPACES, _CONNECTIONS = (
    (b"mntr", b"scnr", b"prtr", b"spac"),
    (b"RGB ", b"GRAY", b"CMYK", b"Lab ", b"XYZ "),
    (b"XYZ ", b"Lab "),
)
_D50 = struct.pack(">3i", 0xF6D6, 0x10000, 0xD32D)
_DATE = struct.pack(">6H", 2000, 1, 1, 0, 0, 0)
_DESCRIPTION, _COPYRIGHT = "De-identified profile", "None"
_PARAMETERS = (1, 3, 4, 5, 7)


def without_texts(profile: bytes) -> bytes:
    """``profile`` with the same colours and no text of its own; empty where it is no profile that can be kept."""
    try:
        return _rebuilt(profile)
    except (IndexError, ValueError, struct.error):
        return b""


def _rebuilt(profile: bytes) -> bytes:
    head = profile[:_HEADER]
    kind, space, connection = head[12:16], head[16:20], head[20:24]
    if (
        head[36:40] != b"acsp"
        or kind not in _CLASSES
        or space not in _SPACES
        or connection not in _CONNECTIONS
        or len(profile) > _MOST_BYTES
    ):
        return b""
    (count,) = struct.unpack_from(">I", profile, _HEADER)
    if count > _MOST_TAGS:
        return b""
    kept: dict[bytes, bytes] = {}
    for number in range(count):
        name, offset, size = struct.unpack_from(">4sII", profile, _HEADER + 4 + _ENTRY * number)
        content = profile[offset : offset + size]
        if content[:4] in _KEPT.get(name, ()):
            kept[name] = _exact_profile(content)
    is_readable = (
        {b"A2B0"} <= kept.keys() or {b"rTRC", b"gTRC", b"bTRC", b"rXYZ"} <= kept.keys() or b"kTRC" in kept
    )
    if not is_readable or b"wtpt" not in kept:
        return b""
    major = head[8]
    kept[b"desc"] = _described(major)
    kept[b"cprt"] = _unicode(_COPYRIGHT) if major >= 4 else b"text\0\0\0\0" + _COPYRIGHT.encode() + b"\0"
    return _assembled(head, kept)


def _exact_profile(content: bytes) -> bytes:
    """The bytes of a tag that its type counts; reserved ones are zero."""
    kind = content[:4]
    (first,) = struct.unpack_from(">I", content, 8)
    size = len(content)
    if kind == b"XYZ ":
        size = 20
    elif kind == b"sf32":
        size = 44
    elif kind == b"curv":
        size = 12 + 2 * first
    elif kind == b"para":
        size = 12 + 4 * _PARAMETERS[first >> 16]
    elif kind in (b"mft1", b"mft2"):
        size = _table_size(content)
    if size > len(content):
        raise ValueError
    return kind + b"\0\0\0\0" + content[8:size]


def _table_size(content: bytes) -> int:
    inputs, outputs, points = content[8:11]
    width = 1 if content[:4] == b"mft1" else 2
    entries, exits = (256, 256) if width == 1 else struct.unpack_from(">HH", content, 48)
    numbers = entries * inputs + int(points) ** int(inputs) * outputs + exits * outputs
    return int((48 if width == 1 else 52) + width * numbers)


def _described(major: int) -> bytes:
    if major >= 4:
        return _unicode(_DESCRIPTION)
    text = _DESCRIPTION.encode() + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + b"\0" * 78


def _unicode(text: str) -> bytes:
    encoded = text.encode("utf-16-be")
    return b"mluc\0\0\0\0" + struct.pack(">II2s2sII", 1, 12, b"en", b"US", len(encoded), 28) + encoded


def _assembled(head: bytes, tags: dict[bytes, bytes]) -> bytes:
    offset = _HEADER + 4 + _ENTRY * len(tags)
    table, contents = [struct.pack(">I", len(tags))], []
    for name, content in tags.items():
        table.append(struct.pack(">4sII", name, offset, len(content)))
        contents.append(content + b"\0" * (-len(content) % 4))
        offset += len(contents[-1])
    (intent,) = struct.unpack_from(">I", head, 64)
    parts = (
        struct.pack(">I4x", offset),
        head[8:10] + b"\0\0",
        head[12:24] + _DATE + b"acsp",
        b"\0" * 24,
        struct.pack(">I", intent if intent <= 3 else 0) + _D50,
        b"\0" * 48,
    )
    return b"".join((*parts, *table, *contents))


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
        values = [one for one in values_of(element) if one is not None and one != ""]
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


def values_of(element: DataElement) -> list[Any]:
    """The values of an element, whether it has one or several."""
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
