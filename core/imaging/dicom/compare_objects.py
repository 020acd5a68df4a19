"""Whether two DICOM objects that claim to be one, with one SOP instance UID, are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import DicomFile, open_dicom
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.patient_identity import owner_of
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

#: What changes with the compression of the pixels.
_COMPRESSION = frozenset((0x00280004, 0x00280006, 0x00282110, 0x00282112, 0x00282114))
#: Elements that a text names.
_NAMED = 8


@dataclass(frozen=True)
class ObjectDifferences:
    """How an object differs from another: whether it is of another patient or has other pixels, whether it is
    compressed in another way, and the names of the elements of its header that differ."""

    other_patient: bool
    other_pixels: bool
    other_compression: bool
    elements: tuple[str, ...]

    @property
    def is_same_image(self) -> bool:
        """Whether both are the same image of the same patient, perhaps with a corrected header."""
        return not (self.other_patient or self.other_pixels)

    def __bool__(self) -> bool:
        return not self.is_same_image or self.other_compression or bool(self.elements)

    def describe(self) -> str:
        """What differs, in words; no values, which may identify the patient."""
        if self.other_patient:
            return tr_lazy("it is of another patient")
        if self.other_pixels:
            return tr_lazy("it has other pixels")
        if self.elements:
            named = ", ".join(self.elements[:_NAMED]) + (", ..." if len(self.elements) > _NAMED else "")
            return tr_lazy("its header differs in {elements}", elements=named)
        if self.other_compression:
            return tr_lazy("its pixels are equal and compressed in another way")
        return tr_lazy("nothing differs")


def compare_objects(one: BinaryIO, other: BinaryIO, name: str) -> ObjectDifferences:
    """How ``other`` differs from ``one``. Pixels are compared as they are decoded; those that cannot be decoded differ
    unless their bytes are equal.

    Raises:
        BadInput: one is no DICOM file.
    """
    first, second = open_dicom(one, name), open_dicom(other, name)
    elements = tuple(_elements(first.dataset, second.dataset))
    return ObjectDifferences(
        is_other_owner(owner_of(first.dataset), owner_of(second.dataset)),
        not _same_pixels(first, second) if first.pixels or second.pixels else bool(elements),
        first.syntax != second.syntax,
        elements,
    )


def is_other_owner(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two of :func:`owner_of` are two patients; an issuer that one lacks tells nobody apart."""
    return one[0] != other[0] or (bool(one[1]) and bool(other[1]) and one[1] != other[1])


def _elements(one: Dataset, other: Dataset) -> list[str]:
    """The elements that differ, except those that only say how pixels are compressed."""
    from pydicom.datadict import keyword_for_tag

    found = []
    for tag in sorted({*one.keys(), *other.keys()} - _COMPRESSION):
        try:
            same = tag in one and tag in other and one[tag].value == other[tag].value
        except Exception:  # noqa: BLE001 - a damaged value is parsed here, and may fail in any way
            same = False
        if not same:
            found.append(keyword_for_tag(tag) or f"({tag >> 16:04x},{tag & 0xFFFF:04x})")
    return found


def _same_pixels(first: DicomFile, second: DicomFile) -> bool:
    if not (first.pixels and second.pixels):
        return False
    try:
        one, other = DicomImages.of(first), DicomImages.of(second)
        if len(one) != len(other):
            return False
        return all(_same_frame(one, other, frame) for frame in range(len(one)))
    except BadInput:
        return first.syntax == second.syntax and _pixel_bytes(first) == _pixel_bytes(second)


def _same_frame(one: DicomImages, other: DicomImages, frame: int) -> bool:
    (a, photometric), (b, other_photometric) = one.stored(frame), other.stored(frame)
    if photometric != other_photometric:
        a, b = one.image(frame).pixels, other.image(frame).pixels
    return np.array_equal(a, b)


def _pixel_bytes(opened: DicomFile) -> bytes:
    opened.file.seek(opened.offset)
    return opened.file.read()
