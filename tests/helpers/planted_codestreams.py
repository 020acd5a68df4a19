"""Texts planted in compressed frames, in every place beside the pixels, and where they may be found again."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from semblance.core.imaging.dicom.transfer_syntaxes import (
    DEFLATED_FRAMES,
    JPEG_BASELINE,
    JPEG_EXTENDED,
    JPEG_LOSSLESS,
    JPEG_LS,
    RLE,
)

_JPEGS = {JPEG_BASELINE, JPEG_EXTENDED} | JPEG_LOSSLESS | JPEG_LS
_TLM = b"\xff\x55"


def planted_frames(frame: bytes, syntax: str, text: bytes) -> Iterator[tuple[str, bytes]]:
    """(place, the frame with ``text`` in it) for each place that a frame of ``syntax`` has."""
    if syntax in _JPEGS:
        yield from _in_jpeg(frame, text)
    elif syntax == RLE:
        yield from _in_rle(frame, text)
    elif syntax == DEFLATED_FRAMES:
        yield "bytes behind the end", frame + text
    elif frame.startswith(b"\0\0\0\x0cjP  "):
        yield from _in_boxes(frame, text)
    else:
        yield from _in_jpeg_2000(frame, text)


def _segment(marker: int, content: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(content) + 2).to_bytes(2, "big") + content


def _in_jpeg(frame: bytes, text: bytes) -> Iterator[tuple[str, bytes]]:
    start = 2
    segments = {
        "comment": _segment(0xFE, text),
        "EXIF": _segment(0xE1, b"Exif\0\0MM\0*\0\0\0\x08" + text),
        "XMP": _segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>" + text),
        "ICC": _segment(0xE2, b"ICC_PROFILE\0\1\1" + text),
        "JPS": _segment(0xE3, text),
        "SPIFF": _segment(0xE8, b"SPIFF\0" + text),
        "Photoshop": _segment(0xED, b"Photoshop 3.0\0" + text),
        "APP15": _segment(0xEF, text),
        "two comments": _segment(0xFE, b"") + _segment(0xFE, text),
    }
    for number in range(16):
        segments[f"APP{number} of nobody"] = _segment(0xE0 + number, text)
    for place, segment in segments.items():
        yield place, frame[:start] + segment + frame[start:]
    scan = frame.find(b"\xff\xda")
    yield "comment before the scan", frame[:scan] + segments["comment"] + frame[scan:]
    end = frame.rfind(b"\xff\xd9")
    yield "comment behind the scan", frame[:end] + segments["comment"] + frame[end:]
    yield "bytes behind the end", frame[: end + 2] + text
    yield "image behind the end", frame[: end + 2] + frame[:start] + segments["comment"] + frame[start:]
    jfif = frame.find(b"\xff\xe0")
    if jfif == 2 and frame[6:10] == b"JFIF":
        size = int.from_bytes(frame[4:6], "big")
        thumbnail = text.ljust(3 * 4 * 16, b"\0")
        yield "thumbnail", frame[:2] + _segment(0xE0, frame[6:18] + b"\4\x10" + thumbnail) + frame[4 + size :]
    adobe = frame.find(b"\xff\xee\x00\x0eAdobe")
    if adobe > 0:
        longer = _segment(0xEE, frame[adobe + 4 : adobe + 16] + text)
        yield "behind the colours of Adobe", frame[:adobe] + longer + frame[adobe + 16 :]


def _in_rle(frame: bytes, text: bytes) -> Iterator[tuple[str, bytes]]:
    count = int.from_bytes(frame[:4], "little")
    offsets = list(struct.unpack_from(f"<{count}I", frame, 4))
    padding = text + b"\0" * (len(text) % 2)
    yield "bytes behind the end", frame + padding
    moved = [one + len(padding) for one in offsets]
    yield (
        "before the first segment",
        struct.pack(f"<{count + 1}I", count, *moved).ljust(64, b"\0") + padding + frame[64:],
    )
    if count > 1:
        moved = [offsets[0], *(one + len(padding) for one in offsets[1:])]
        head = struct.pack(f"<{count + 1}I", count, *moved).ljust(64, b"\0")
        yield "between segments", head + frame[64 : offsets[1]] + padding + frame[offsets[1] :]
    used = 4 + 4 * count
    yield "in the header", frame[:used] + text[: 64 - used].ljust(64 - used, b"\0") + frame[64:]
    if count < 15:
        head = struct.pack(f"<{count + 2}I", count + 1, *offsets, len(frame)).ljust(64, b"\0")
        yield "in a further segment", head + frame[64:] + bytes((len(text) - 1,)) + padding


def _in_jpeg_2000(frame: bytes, text: bytes) -> Iterator[tuple[str, bytes]]:
    comment = b"\xff\x64" + (len(text) + 4).to_bytes(2, "big") + b"\0\1" + text
    sized = 4 + int.from_bytes(frame[4:6], "big")
    yield "comment", frame[:sized] + comment + frame[sized:]
    yield "bytes behind the end", frame + text
    tile = frame.find(b"\xff\x90\0\x0a", sized)
    length = int.from_bytes(frame[tile + 6 : tile + 10], "big")
    longer = (length + len(comment)).to_bytes(4, "big") if length else bytes(4)
    in_tile = (
        frame[:tile]
        + frame[tile : tile + 6]
        + longer
        + frame[tile + 10 : tile + 12]
        + comment
        + frame[tile + 12 :]
    )
    lengths = frame.find(_TLM, 0, tile)
    if lengths > 0:
        width = 4 if frame[lengths + 5] & 0x40 else 2
        place = lengths + 6 + ((frame[lengths + 5] >> 4) & 3)
        stated = int.from_bytes(frame[place : place + width], "big") + len(comment)
        in_tile = in_tile[:place] + stated.to_bytes(width, "big") + in_tile[place + width :]
    yield "comment of a tile", in_tile
    for place, kind, content in (
        ("box of XML", b"xml ", b"<x>" + text + b"</x>"),
        ("UUID box", b"uuid", bytes(range(16)) + text),
        ("rights", b"jp2i", text),
    ):
        yield place, _in_jp2(frame, _box(kind, content), b"")
        yield f"{place} behind the codestream", _in_jp2(frame, b"", _box(kind, content))


def _in_boxes(frame: bytes, text: bytes) -> Iterator[tuple[str, bytes]]:
    """Boxes of a frame that is a JP2 file already."""
    start = 12
    for kind in (b"xml ", b"uuid", b"jp2i", b"free"):
        yield kind.decode(), frame[:start] + _box(kind, text) + frame[start:]


def _box(kind: bytes, content: bytes) -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + kind + content


def _in_jp2(frame: bytes, before: bytes, behind: bytes) -> bytes:
    height, width = (int.from_bytes(frame[at : at + 4], "big") for at in (12, 8))
    samples = int.from_bytes(frame[40:42], "big")
    header = _box(b"ihdr", struct.pack(">IIHBBBB", height, width, samples, frame[42], 7, 0, 0))
    colours = _box(b"colr", b"\1\0\0" + (17 if samples == 1 else 16).to_bytes(4, "big"))
    return b"".join(
        (
            _box(b"jP  ", b"\r\n\x87\n"),
            _box(b"ftyp", b"jp2 \0\0\0\0jp2 "),
            _box(b"jp2h", header + colours),
            before,
            _box(b"jp2c", frame.rstrip(b"\0") if frame.endswith(b"\xff\xd9\0") else frame),
            behind,
        )
    )
