"""What compressed frames say of themselves: their size, and by which compression they were packed."""

from __future__ import annotations

from semblance.core.imaging.dicom.dicom_file import DicomFile
from semblance.core.imaging.dicom.transfer_syntaxes import (
    DECODERS,
    JPEG_2000,
    JPEG_BASELINE,
    JPEG_EXTENDED,
    JPEG_LOSSLESS,
    JPEG_LS,
    RLE,
)

#: Start-of-frame markers of JPEG and JPEG-LS, those that carry the size.
_SIZED = frozenset({*range(0xC0, 0xD0), 0xF7} - {0xC4, 0xC8, 0xCC})
_MARKERS_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
#: Bytes in which the size of the first frame is searched.
_SEARCHED = 1 << 16
_RLE_HEADER, _RLE_SEGMENTS = 64, 15
_SYNTAX_OF_MARKER = {
    0xC0: JPEG_BASELINE,
    0xC1: JPEG_EXTENDED,
    0xC3: "1.2.840.10008.1.2.4.57",
    0xF7: "1.2.840.10008.1.2.4.80",
}
#: Syntaxes that one decoder reads, so that the declared one is kept.
_FAMILIES = (
    frozenset((JPEG_BASELINE, JPEG_EXTENDED)),
    JPEG_LOSSLESS,
    JPEG_LS,
    frozenset(syntax for syntax in DECODERS if "pylibjpeg" in DECODERS[syntax][:1]),
    frozenset((RLE,)),
)
_JP2 = b"\x00\x00\x00\x0cjP  "


def jpeg_facts(data: bytes) -> tuple[int, int, int, int] | None:
    """(columns, rows, samples, bits) of a JPEG or JPEG-LS frame."""
    place = _frame_header(data)
    if place is None:
        return None
    rows = int.from_bytes(data[place + 5 : place + 7], "big")
    return int.from_bytes(data[place + 7 : place + 9], "big"), rows, data[place + 9], data[place + 4]


def prove_compression(opened: DicomFile) -> None:
    """Take the compression that the first frame is packed by, where the file declares another."""
    opened.file.seek(opened.offset)
    head = opened.file.read(8)
    # Behind the first item, the table of offsets, lies that of the first frame.
    opened.file.seek(opened.offset + 16 + int.from_bytes(head[4:], "little"))
    found = _syntax_of(opened.file.read(_SEARCHED))
    if (
        head[:4] == b"\xfe\xff\x00\xe0"
        and found
        and not any({found, opened.syntax} <= family for family in _FAMILIES)
    ):
        opened.use_proved_syntax(found)


def _syntax_of(data: bytes) -> str:
    """The transfer syntax of a compressed frame, "" where it is unknown."""
    if jpeg_2000_facts(data) is not None:
        return JPEG_2000
    if len(data) > _RLE_HEADER and 1 <= int.from_bytes(data[:4], "little") <= _RLE_SEGMENTS:
        return RLE if int.from_bytes(data[4:8], "little") == _RLE_HEADER else ""
    place = _frame_header(data)
    return "" if place is None else _SYNTAX_OF_MARKER.get(data[place + 1], "")


def _frame_header(data: bytes) -> int | None:
    """Where the marker lies that carries the size of a JPEG or JPEG-LS frame."""
    if data[:2] != b"\xff\xd8":
        return None
    place = 2
    while place + 9 <= len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
        elif marker in _MARKERS_WITHOUT_LENGTH:
            place += 2
        elif marker in _SIZED:
            return place
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None


def jpeg_2000_facts(data: bytes) -> tuple[int, int, int, int] | None:
    """(columns, rows, samples, bits) of a JPEG 2000 codestream, plain or in a JP2 file."""
    start = data.find(b"\xff\x4f\xff\x51", 0, 4096) if data.startswith(_JP2) else 0
    if start < 0 or data[start : start + 4] != b"\xff\x4f\xff\x51" or len(data) < start + 43:
        return None
    sides = [int.from_bytes(data[start + at : start + at + 4], "big") for at in (8, 12, 16, 20)]
    samples = int.from_bytes(data[start + 40 : start + 42], "big")
    return sides[0] - sides[2], sides[1] - sides[3], samples, (data[start + 42] & 0x7F) + 1
