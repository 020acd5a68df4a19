"""Write the pixels of an object again, as they are, without what lies between and behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.imaging.deidentification.codestreams import clean_codestream
from semblance.core.imaging.dicom.dicom_file import DicomFile
from semblance.core.imaging.dicom.frames import without_unused_bits
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.pixel_layout import PixelLayout, layout_of
from semblance.core.imaging.dicom.transfer_syntaxes import EXPLICIT_BIG, PLAIN

if TYPE_CHECKING:
    from pydicom import Dataset

PIXELS = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")
#: Bytes of uncompressed pixels that are looked at together.
_PIECE = 16 << 20
_TABLE, _LENGTHS = "ExtendedOffsetTable", "ExtendedOffsetTableLengths"
#: Offsets of more bytes than 32 bits count are in the extended table.
_MOST_IN_BASIC_TABLE = 0xFFFFFFFF


def repack_pixels(dataset: Dataset, opened: DicomFile, identity: Identity) -> int:
    """Remove from the pixels of ``dataset``, whose file is ``opened``, comments, metadata and what follows their end.

    Uncompressed pixels end with the last frame, and bits that no number counts are cleared. Compressed frames are one
    fragment each, with a table of offsets, and are not compressed again: they decode to the same numbers.

    Returns:
        How many bytes were left out.

    Raises:
        BadInput: a video, an unknown compression, damaged pixels, or a name or id of ``identity`` within them.
    """
    for keyword in PIXELS:
        if keyword in dataset and keyword != opened.pixels:
            del dataset[keyword]
    layout = layout_of(opened)
    element = dataset[opened.pixels]
    before: bytes = element.value
    if opened.syntax in PLAIN:
        needed = -(-layout.frames * layout.frame_bits // 8)
        swapped = opened.syntax == EXPLICIT_BIG and opened.pixel_vr == "OW" and layout.allocated <= 8
        whole = _whole_words(before, needed, swapped=swapped)
        element.value, changed = _without_unused_bits(whole, opened, layout)
        _remove_tables(dataset)
        return len(before) - len(whole) + changed
    frames = [
        clean_codestream(frame, opened.syntax, layout) for frame in _frames(dataset, before, layout.frames)
    ]
    if any(identity.is_in_bytes(frame, compressed=True) for frame in frames):
        raise BadInput(
            "Its compressed pixels have a name or an ID of the patient in them.", "Export it uncompressed."
        )
    return _put_frames(dataset, opened.pixels, frames)


def _whole_words(content: bytes, needed: int, *, swapped: bool) -> bytes:
    """The first ``needed`` bytes and, behind an odd number of them, a zero. ``swapped``: bytes lie in words with the
    later one first."""
    kept = bytearray(content[: needed + needed % 2].ljust(needed + needed % 2, b"\0"))
    if needed % 2:
        kept[needed - 1 if swapped else needed] = 0
    return bytes(kept)


def _without_unused_bits(content: bytes, opened: DicomFile, layout: PixelLayout) -> tuple[bytes, int]:
    """Uncompressed pixels without the bits that no number counts, which may be an overlay of before 2004 that no
    attribute tells of, and how many bytes were changed. Copies of the sign stay."""
    import numpy as np

    if layout.floating or layout.allocated == layout.stored:
        return content, 0
    size = layout.allocated // 8
    kind = np.dtype(f"{'<' if opened.little else '>'}u{size}")
    native = kind.newbyteorder("=")
    shift = layout.high + 1 - layout.stored
    unused = ~native.type(((1 << layout.stored) - 1) << shift)
    kept, changed = bytearray(content), 0
    for start in range(0, len(content) // size * size, _PIECE):
        values = np.frombuffer(kept, kind, min(_PIECE, len(content) - start) // size, start)
        wrong = np.flatnonzero(values & unused)
        before = values[wrong].astype(native)
        numbers = without_unused_bits(before.view(f"i{size}") if layout.signed else before, layout)
        after = numbers.view(native) << native.type(shift)
        changed += int((after != before).sum())
        values[wrong] = after
    return (bytes(kept), changed * size) if changed else (content, 0)


def _frames(dataset: Dataset, content: bytes, count: int) -> list[bytes]:
    from pydicom.encaps import generate_frames

    given: Any = {}
    if _TABLE in dataset and _LENGTHS in dataset:
        given["extended_offsets"] = (dataset[_TABLE].value, dataset[_LENGTHS].value)
    frames = []
    for frame in generate_frames(content, number_of_frames=count, **given):
        frames.append(frame)
        if len(frames) == count:
            return frames
    raise BadInput("A part of its pixels is missing.", "Copy it from its source again, or leave it out.")


def _put_frames(dataset: Dataset, keyword: str, frames: list[bytes]) -> int:
    from pydicom.encaps import encapsulate, encapsulate_extended

    element = dataset[keyword]
    before = len(element.value)
    is_extended = _TABLE in dataset or sum(len(one) + 9 for one in frames) > _MOST_IN_BASIC_TABLE
    _remove_tables(dataset)
    if is_extended:
        element.value, dataset.ExtendedOffsetTable, dataset.ExtendedOffsetTableLengths = encapsulate_extended(
            frames
        )
    else:
        element.value = encapsulate(frames)
    element.is_undefined_length = True
    return max(0, before - len(element.value))


def _remove_tables(dataset: Dataset) -> None:
    for keyword in (_TABLE, _LENGTHS):
        if keyword in dataset:
            del dataset[keyword]
