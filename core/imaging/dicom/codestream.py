"""What a packed frame says of its own size, so that nothing is decoded into more than was allowed."""

from __future__ import annotations

from core.errors import BadInput
from core.imaging.dicom.layout import Layout
from core.imaging.dicom.reading import COPY_AGAIN
from core.imaging.dicom.syntaxes import DEFLATED_FRAMES, JPEG_EXTENDED, RLE

#: Start-of-frame markers of JPEG and JPEG-LS, those that carry the size.
_SIZED = frozenset({*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC})
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_JP2 = b"\x00\x00\x00\x0cjP  "


def check_codestream(data: bytes, syntax: str, layout: Layout, name: str, *, deep_jpeg: bool = False) -> None:
    """``deep_jpeg``: a decoder of 12-bit JPEG is at hand.

    Raises:
        BadInput: the frame is of another size or depth than the header says, or no such packing at all.
    """
    if syntax in (RLE, DEFLATED_FRAMES):
        return
    found = _jpeg2000(data) or _jpeg(data)
    if found is None:
        raise BadInput(f"The packed pixels of '{name}' are damaged at their start.", COPY_AGAIN)
    columns, rows, samples, depth = found
    if (columns, rows) != (layout.columns, layout.rows) or samples != layout.samples:
        raise BadInput(
            f"The packed pixels of '{name}' are {columns:,} x {rows:,} with {samples} samples, its header "
            f"says {layout.columns:,} x {layout.rows:,} with {layout.samples}.",
            COPY_AGAIN,
        )
    if depth > layout.allocated:
        raise BadInput(f"The packed pixels of '{name}' have more bits than its header says.", COPY_AGAIN)
    if syntax == JPEG_EXTENDED and depth > 8 and not deep_jpeg:
        raise BadInput(
            f"'{name}' is 12-bit JPEG (JPEG Extended), for which no freely licensed decoder is at hand.",
            "Export it as lossless JPEG or uncompressed.",
        )


def _jpeg(data: bytes) -> tuple[int, int, int, int] | None:
    """(columns, rows, samples, bits) of a JPEG or JPEG-LS frame."""
    if data[:2] != b"\xff\xd8":
        return None
    place = 2
    while place + 9 <= len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
        elif marker in _ALONE:
            place += 2
        elif marker in _SIZED:
            rows = int.from_bytes(data[place + 5 : place + 7], "big")
            return int.from_bytes(data[place + 7 : place + 9], "big"), rows, data[place + 9], data[place + 4]
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None


def _jpeg2000(data: bytes) -> tuple[int, int, int, int] | None:
    """(columns, rows, samples, bits) of a JPEG 2000 codestream, plain or in a JP2 file."""
    start = data.find(b"\xff\x4f\xff\x51", 0, 4096) if data.startswith(_JP2) else 0
    if start < 0 or data[start : start + 4] != b"\xff\x4f\xff\x51" or len(data) < start + 43:
        return None
    sides = [int.from_bytes(data[start + at : start + at + 4], "big") for at in (8, 12, 16, 20)]
    samples = int.from_bytes(data[start + 40 : start + 42], "big")
    return sides[0] - sides[2], sides[1] - sides[3], samples, (data[start + 42] & 0x7F) + 1
