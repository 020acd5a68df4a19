"""All elements of a header as lines of text, without the pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semblance.core.imaging.dicom.attributes import MAX_DEPTH
from semblance.core.language import tr_lazy, tr_lazy_n

if TYPE_CHECKING:
    from pydicom import DataElement, Dataset

#: Lines of one listing; further elements are counted and not shown.
MAX_LINES = 20_000
#: Characters of one value, and values of one element, that are shown.
MAX_VALUE, MAX_VALUES = 256, 32

_BINARY = frozenset(("OB", "OW", "OF", "OD", "OL", "OV", "UN"))
_PATIENT, _PIXELS = 0x0010, 0x7FE0
_SEQUENCE = "SQ"
#: Names, dates, places and numbers by which someone could be found (PS3.15 table E.1-1, basic profile).
_IDENTIFYING_VRS = frozenset(("PN", "DA", "DT", "UI"))
#: UIDs of classes, not of single objects.
_KINDS = frozenset(
    (
        "MediaStorageSOPClassUID",
        "SOPClassUID",
        "TransferSyntaxUID",
        "ImplementationClassUID",
        "ReferencedSOPClassUID",
        "CodingSchemeUID",
        "ContextUID",
        "MappingResourceUID",
    )
)
_IDENTIFYING = frozenset(
    (
        "AccessionNumber",
        "AcquisitionComments",
        "AdmissionID",
        "AdmittingDiagnosesDescription",
        "ContentCreatorName",
        "DerivationDescription",
        "DetectorID",
        "DeviceSerialNumber",
        "FrameComments",
        "ImageComments",
        "InstitutionAddress",
        "InstitutionName",
        "InstitutionalDepartmentName",
        "OperatorsName",
        "PerformedProcedureStepDescription",
        "PerformedProcedureStepID",
        "PerformedStationName",
        "PlateID",
        "ProtocolName",
        "RequestedProcedureDescription",
        "RequestedProcedureID",
        "RequestingService",
        "ReviewerName",
        "ScheduledProcedureStepID",
        "SeriesDescription",
        "StationName",
        "StudyComments",
        "StudyDescription",
        "StudyID",
        "TextValue",
        "AcquisitionTime",
        "ContentTime",
        "InstanceCreationTime",
        "SeriesTime",
        "StudyTime",
    )
)


@dataclass(frozen=True)
class HeaderLine:
    """One element: ``depth`` sequences deep, its tag ("0010,0010"), name, value representation and value.

    ``identifying``: a person could be found by it; private elements count as identifying.
    """

    depth: int
    tag: str
    name: str
    vr: str
    value: str
    identifying: bool = False


def header_lines(dataset: Dataset) -> tuple[list[HeaderLine], int]:
    """The elements of ``dataset`` in order, file meta information first, items of sequences after them, and the
    number of elements beyond :data:`MAX_LINES`."""
    lines: list[HeaderLine] = []
    n_left_out = 0
    for line in _all(dataset):
        if len(lines) < MAX_LINES:
            lines.append(line)
        else:
            n_left_out += 1
    return lines, n_left_out


def _all(dataset: Dataset) -> Iterator[HeaderLine]:
    meta = getattr(dataset, "file_meta", None)
    if meta is not None:
        yield from _lines(meta, 0, identifying=False)
    yield from _lines(dataset, 0, identifying=False)


def _lines(dataset: Dataset, depth: int, *, identifying: bool) -> Iterator[HeaderLine]:
    for tag in sorted(dataset.keys()):
        if tag.group == _PIXELS:
            continue
        try:
            element = dataset[tag]
        except Exception as error:  # noqa: BLE001 - a damaged value is parsed here, and may fail in any way
            yield HeaderLine(
                depth, _tag(tag), "", "", f"cannot be read: {error}"[:MAX_VALUE], identifying=True
            )
            continue
        is_identifying = identifying or _is_identifying(element)
        if element.VR != _SEQUENCE:
            yield HeaderLine(depth, _tag(tag), element.name, element.VR, value_text(element), is_identifying)
            continue
        items = list(element.value)
        is_multiple = tr_lazy_n("{n} item", "{n} items", len(items))
        yield HeaderLine(depth, _tag(tag), element.name, element.VR, is_multiple, is_identifying)
        if depth + 1 >= MAX_DEPTH:
            yield HeaderLine(depth + 1, "", "deeper sequences are not shown", "", "")
            continue
        for number, item in enumerate(items, 1):
            if len(items) > 1:
                yield HeaderLine(depth + 1, "", tr_lazy("Item {number}", number=number), "", "")
            yield from _lines(item, depth + 1, identifying=is_identifying)


def value_text(element: DataElement) -> str:
    """The value in one line; for bytes their number."""
    value: Any = element.value
    if isinstance(value, (bytes, bytearray)):
        plain = _plain_bytes(bytes(value)) if element.VR == "UN" else ""
        return plain or tr_lazy("{n:,} bytes", n=len(value))
    if element.VR in _BINARY and value is not None:
        return tr_lazy("{n:,} values", n=len(value)) if hasattr(value, "__len__") else str(value)[:MAX_VALUE]
    if value is None:
        return ""
    if isinstance(value, (list, tuple)) or type(value).__name__ == "MultiValue":
        shown = "\\".join(str(part) for part in value[:MAX_VALUES])
        text = shown + (tr_lazy("\\… ({n:,} values)", n=len(value)) if len(value) > MAX_VALUES else "")
    elif element.VR == "UI" and getattr(value, "name", value) != value:
        text = f"{value} ({value.name})"
    else:
        text = str(value)
    line = " ".join("".join(part if part.isprintable() else " " for part in text[: 4 * MAX_VALUE]).split())
    return line if len(line) <= MAX_VALUE else f"{line[: MAX_VALUE - 1]}…"


def _plain_bytes(value: bytes) -> str:
    """The short text of an element of unknown type, "" where it is not text."""
    text = value.rstrip(b"\0 ")
    if not 0 < len(text) <= MAX_VALUE or not all(32 <= byte < 127 for byte in text):
        return ""
    return text.decode("ascii")


def _is_identifying(element: DataElement) -> bool:
    keyword = element.keyword
    if element.tag.is_private or element.tag.group == _PATIENT:
        return True
    if element.VR in _IDENTIFYING_VRS:
        return keyword not in _KINDS
    return keyword in _IDENTIFYING


def _tag(tag: Any) -> str:
    return f"{tag.group:04X},{tag.element:04X}"
