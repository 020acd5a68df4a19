"""What a packed frame says of its own size, so that nothing is decoded into more than was allowed."""

from __future__ import annotations

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.dicom.transfer_syntaxes import DEFLATED_FRAMES, JPEG_EXTENDED, JPEG_LS, RLE
from semblance.core.language import tr_lazy

#: Start-of-frame markers of JPEG and JPEG-LS, those that carry the size.
_SIZED = frozenset({*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC})
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_NOTES = frozenset({*range(0xE0, 0xF0), 0xFE})
_SCAN = b"\xff\xda"
_LOSSLESS = b"\xc3"
#: Lossless frame, Huffman tables, restart interval, quantisation (which lossless data may carry idly).
_NEEDED = frozenset((_LOSSLESS, b"\xc4", b"\xdd", b"\xdb"))
_END_OF_IMAGE = b"\xff\xd9"
#: Bytes at the end of a frame where its end mark is looked for; writers pad.
_TAIL = 64
_JP2 = b"\x00\x00\x00\x0cjP  "


def check_codestream(
    data: bytes, syntax: str, layout: PixelLayout, name: str, *, deep_jpeg: bool = False
) -> None:
    """``deep_jpeg``: a decoder of 12-bit JPEG is at hand.

    Raises:
        BadInput: the frame is of another size or depth than the header says, or no such packing at all.
    """
    if syntax in (RLE, DEFLATED_FRAMES):
        return
    if syntax in JPEG_LS and _END_OF_IMAGE not in data[-_TAIL:]:
        # CharLS spends seconds on what is missing.
        raise BadInput(tr_lazy("The packed pixels of '{name}' are cut off.", name=name), COPY_AGAIN)
    found = _jpeg2000(data) or _jpeg(data)
    if found is None:
        raise BadInput(
            tr_lazy("The packed pixels of '{name}' are damaged at their start.", name=name), COPY_AGAIN
        )
    columns, rows, samples, depth = found
    if (columns, rows) != (layout.columns, layout.rows) or samples != layout.samples:
        raise BadInput(
            tr_lazy(
                "The packed pixels of '{name}' are {columns:,} x {rows:,} with {samples} samples, "
                "its header says {columns2:,} x {rows2:,} with {samples2}.",
                name=name,
                columns=columns,
                rows=rows,
                samples=samples,
                columns2=layout.columns,
                rows2=layout.rows,
                samples2=layout.samples,
            ),
            COPY_AGAIN,
        )
    if depth > layout.allocated:
        raise BadInput(
            tr_lazy("The packed pixels of '{name}' have more bits than its header says.", name=name),
            COPY_AGAIN,
        )
    if syntax == JPEG_EXTENDED and depth > 8 and not deep_jpeg:
        raise BadInput(
            tr_lazy(
                "'{name}' is 12-bit JPEG (JPEG Extended), for which no freely licensed decoder is at hand.",
                name=name,
            ),
            "Export it as lossless JPEG or uncompressed.",
        )


def plain_lossless(data: bytes, name: str) -> bytes:
    """A lossless JPEG frame with nothing before its scan but what decoding needs, without what applications
    noted in it: on an unknown note gdcm ends the process, and DICOM's header tells the colours anyway.

    Raises:
        BadInput: the frame is no lossless JPEG, or damaged before its scan.
    """
    kept, place = [data[:2]], 2
    sizes = 0
    while data[place : place + 2] != _SCAN:
        marker = data[place + 1 : place + 2]
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        end = place + 2 + length
        sizes += marker == _LOSSLESS
        if data[place : place + 1] != b"\xff" or length < 2 or end > len(data) or sizes > 1:
            break
        if marker in _NEEDED:
            kept.append(data[place:end])
        elif marker[0] not in _NOTES:
            break
        place = end
    if sizes != 1 or data[place : place + 2] != _SCAN:
        raise BadInput(
            tr_lazy("The packed pixels of '{name}' are damaged at their start.", name=name), COPY_AGAIN
        )
    return b"".join((*kept, data[place:]))


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
