"""Write the pixels of an object again, as they are, without what lies between and behind them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import DicomFile
from semblance.core.imaging.dicom.frames import without_unused_bits
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.pixel_layout import PixelLayout, layout_of
from semblance.core.imaging.dicom.transfer_syntaxes import (
    DEFLATED_FRAMES,
    EXPLICIT_BIG,
    JPEG_BASELINE,
    JPEG_EXTENDED,
    JPEG_LOSSLESS,
    JPEG_LS,
    PLAIN,
    RLE,
)
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

_JPEG = frozenset((JPEG_BASELINE, JPEG_EXTENDED)) | JPEG_LOSSLESS
#: JPEG 2000 and HTJ2K, part 1 of each; part 2 can hold what nobody here can check.
_JPEG_2000 = frozenset(f"1.2.840.10008.1.2.4.{number}" for number in (90, 91, 201, 202, 203))
_SOI, _EOI, _SOS, _COMMENT = 0xD8, 0xD9, 0xDA, 0xFE
#: Frames, tables of Huffman, arithmetic and quantisation, number of lines, restart interval, and of JPEG-LS.
_NEEDED = frozenset(range(0xC0, 0xD0)) - {0xC8} | {0xDA, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xF7, 0xF8}
_APPLICATIONS = range(0xE0, 0xF0)
#: The next marker behind entropy-coded data. Zeros are stuffed there, in JPEG-LS a bit; restarts belong to the data.
_NEXT_OF_JPEG = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)
_NEXT_OF_JPEG_LS = re.compile(rb"\xff[\x80-\xcf\xd8-\xfe]", re.DOTALL)
#: JFIF 1.02 without a density and without a thumbnail: that it is there tells decoders the colours.
_JFIF = b"JFIF\0\1\2\0\0\1\0\1\0\0"
_ADOBE, _ADOBE_VERSION, _ADOBE_LENGTH = b"Adobe", b"\0\x64\0\0\0\0", 12
#: A transform of colours that JPEG-LS of Hewlett-Packard names.
_HP_COLOURS = re.compile(rb"mrfx[\x00-\x03]")

_SOC, _SOT, _SOD, _EOC = b"\xff\x4f", b"\xff\x90", b"\xff\x93", b"\xff\xd9"
_TLM, _COM = b"\xff\x55", b"\xff\x64"
_NEEDED_IN_2000 = frozenset(
    b"\xff" + bytes([low])
    for low in (
        0x50,
        0x51,
        0x52,
        0x53,
        0x55,
        0x56,
        0x57,
        0x58,
        0x59,
        0x5C,
        0x5D,
        0x5E,
        0x5F,
        0x60,
        0x61,
        0x63,
    )
)
_JP2, _FILE_TYPE = b"\x00\x00\x00\x0cjP  ", b"\0\0\0\x14ftypjp2 \0\0\0\0jp2 "
#: sRGB and grey, which are what the numbers are without a word on their colours.
_PLAIN_COLOURS = (16, 17)
_RLE_HEADER, _RLE_SEGMENTS = 64, 15


def clean_codestream(data: bytes, syntax: str, layout: PixelLayout) -> bytes:
    """The frame ``data`` of a transfer syntax with its pixels alone; it decodes to the same numbers.

    Raises:
        BadInput: it is damaged, or of a compression or with parts that are not known.
    """
    cleaner = _cleaner(syntax)
    if cleaner is None:
        from pydicom.uid import UID

        raise BadInput(
            tr_lazy(
                "Its pixels are compressed by {called}, from which Semblance cannot remove comments and metadata.",
                called=UID(syntax).name,
            ),
            "Export it uncompressed or as JPEG 2000.",
        )
    try:
        return cleaner(data, layout)
    except (IndexError, KeyError, OverflowError, StopIteration, ValueError, zlib.error):
        raise _damaged() from None


def _cleaner(syntax: str) -> Callable[[bytes, PixelLayout], bytes] | None:
    if syntax in _JPEG:
        return lambda data, _: _clean_jpeg(data, _NEXT_OF_JPEG)
    if syntax in JPEG_LS:
        return lambda data, _: _clean_jpeg(data, _NEXT_OF_JPEG_LS)
    if syntax in _JPEG_2000:
        return lambda data, _: _clean_jpeg_2000(data)
    if syntax == RLE:
        return _clean_rle
    return _clean_deflated if syntax == DEFLATED_FRAMES else None


def _damaged() -> BadInput:
    return BadInput(
        "Its compressed pixels are damaged, or have parts that are not known and may hold text.",
        "Export it uncompressed.",
    )


# --- JPEG and JPEG-LS --------------------------------------------------------------------------------------


def _clean_jpeg(data: bytes, next_marker: re.Pattern[bytes]) -> bytes:
    if data[:2] != bytes((0xFF, _SOI)):
        raise _damaged()
    out, place = [data[:2]], 2
    while True:
        if data[place] != 0xFF:
            raise _damaged()
        while data[place + 1] == 0xFF:
            place += 1
        marker = data[place + 1]
        if marker == _EOI:
            out.append(data[place : place + 2])
            return b"".join(out)
        end = place + 2 + int.from_bytes(data[place + 2 : place + 4], "big")
        if end < place + 4 or end > len(data):
            raise _damaged()
        if marker in _NEEDED:
            out.append(data[place:end])
        elif marker in _APPLICATIONS:
            out.append(_needed_application(marker, data[place + 4 : end]))
        elif marker != _COMMENT:
            raise _damaged()
        place = end
        if marker == _SOS:
            found = next_marker.search(data, place)
            if found is None:
                # Without its end marker, which decoders take.
                return b"".join((*out, data[place:]))
            # A marker may have any number of FF before it.
            out.append(data[place : found.start()].rstrip(b"\xff"))
            place = found.start()


def _needed_application(marker: int, content: bytes) -> bytes:
    """What decoders need to know of the colours, and nothing else of an application's segment."""
    needed = b""
    if marker == 0xE0 and content.startswith(b"JFIF\0"):
        needed = _JFIF
    elif marker == 0xEE and content.startswith(_ADOBE) and len(content) >= _ADOBE_LENGTH:
        needed = _ADOBE + _ADOBE_VERSION + content[11:12]
        needed = needed if content[11] <= 2 else b""
    elif marker == 0xE8 and _HP_COLOURS.fullmatch(content):
        needed = content
    return bytes((0xFF, marker)) + (len(needed) + 2).to_bytes(2, "big") + needed if needed else b""


# --- JPEG 2000 ---------------------------------------------------------------------------------------------


@dataclass
class _TilePart:
    """Its header without comments from SOT on, and the packets with the marker before them; ``length`` as stated."""

    segments: list[bytes] = field(default_factory=list)
    packets: bytes = b""
    length: int = 0

    def encoded(self) -> bytes:
        head = b"".join(self.segments)
        size = len(head) + len(self.packets)
        # The last tile-part may leave its length open.
        stated = size if self.length else 0
        return head[:6] + stated.to_bytes(4, "big") + head[10:] + self.packets


def _clean_jpeg_2000(data: bytes) -> bytes:
    if data.startswith(_JP2):
        return _clean_jp2(data)
    if data[:4] != _SOC + b"\xff\x51":
        raise _damaged()
    main, place = [data[:2]], 2
    while data[place : place + 2] != _SOT:
        segment, place = _segment_of_2000(data, place)
        main.append(segment)
    parts: list[_TilePart] = []
    while data[place : place + 2] == _SOT:
        part, place = _tile_part(data, place)
        parts.append(part)
    rest = data[place : place + 2]
    if rest != _EOC and rest.strip(b"\0"):
        raise _damaged()
    encoded = [part.encoded() for part in parts]
    lengths = iter([len(part) for part in encoded])
    main = [_with_lengths(one, lengths) if one[:2] == _TLM else one for one in main]
    return b"".join((*main, *encoded, _EOC))


def _segment_of_2000(data: bytes, place: int) -> tuple[bytes, int]:
    """A segment of a header, empty for a comment, and where the next begins."""
    marker, length = data[place : place + 2], int.from_bytes(data[place + 2 : place + 4], "big")
    end = place + 2 + length
    if length < 2 or end > len(data) or (marker not in _NEEDED_IN_2000 and marker != _COM):
        raise _damaged()
    return b"" if marker == _COM else data[place:end], end


def _tile_part(data: bytes, start: int) -> tuple[_TilePart, int]:
    part = _TilePart(length=int.from_bytes(data[start + 6 : start + 10], "big"))
    if data[start + 2 : start + 4] != b"\0\x0a" or len(data) < start + 12:
        raise _damaged()
    part.segments.append(data[start : start + 12])
    place = start + 12
    while data[place : place + 2] != _SOD:
        segment, place = _segment_of_2000(data, place)
        part.segments.append(segment)
    # No two bytes of packets are a marker above FF8F.
    end = start + part.length if part.length else data.find(_EOC, place)
    if end < place + 2 or end > len(data):
        raise _damaged()
    part.packets = data[place:end]
    return part, end


def _with_lengths(segment: bytes, lengths: object) -> bytes:
    """A TLM segment, which lists the lengths of tile-parts in their order, with ``lengths`` (T.800 A.7.1)."""
    sizes = segment[5]
    of_index, of_length = (sizes >> 4) & 3, 4 if sizes & 0x40 else 2
    out, place = [segment[:6]], 6
    while place < len(segment):
        out.append(segment[place : place + of_index])
        out.append(next(lengths).to_bytes(of_length, "big"))  # type: ignore[call-overload]
        place += of_index + of_length
    return b"".join(out)


def _clean_jp2(data: bytes) -> bytes:
    """The codestream of a JP2 file, which PS3.5 A.4.4 does not allow around it and some programs write. Boxes that say
    how to make other colours of the numbers stay around it.
    """
    boxes = _boxes(data)
    stream = _clean_jpeg_2000(next((content for kind, content in boxes if kind == b"jp2c"), b""))
    header = dict(_boxes(next((content for kind, content in boxes if kind == b"jp2h"), b"")))
    colours = header.get(b"colr", b"")[:7]
    is_known = not colours or colours[0] != 1 or int.from_bytes(colours[3:7], "big") in _PLAIN_COLOURS
    if is_known and not header.keys() & {b"pclr", b"cmap", b"cdef"}:
        return stream
    if not colours or colours[0] != 1:
        colours = b"\1\0\0" + _PLAIN_COLOURS[0].to_bytes(4, "big")
    channels = int.from_bytes(header[b"ihdr"][8:10], "big")
    kept = [(b"ihdr", header[b"ihdr"][:14]), (b"colr", colours)]
    sizes = {
        b"bpcc": channels,
        b"pclr": len(header.get(b"pclr", b"")),
        b"cmap": len(header.get(b"cmap", b"")) // 4 * 4,
    }
    sizes[b"cdef"] = 2 + 6 * int.from_bytes(header.get(b"cdef", b"\0\0")[:2], "big")
    kept += [(kind, header[kind][:size]) for kind, size in sizes.items() if kind in header]
    inner = b"".join(_box(kind, content) for kind, content in kept)
    return b"".join((_JP2, b"\r\n\x87\n", _FILE_TYPE, _box(b"jp2h", inner), _box(b"jp2c", stream)))


def _box(kind: bytes, content: bytes) -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + kind + content


def _boxes(data: bytes) -> list[tuple[bytes, bytes]]:
    out, place = [], 0
    while place + 8 <= len(data):
        length, kind, head = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8], 8
        if length == 1:
            length, head = int.from_bytes(data[place + 8 : place + 16], "big"), 16
        end = place + length if length else len(data)
        if end < place + head:
            raise _damaged()
        out.append((kind, data[place + head : end]))
        # A last box that the padding of the item cut short by a byte is as long as there are bytes.
        place = end
    return out


# --- RLE and deflated frames -------------------------------------------------------------------------------


def _clean_rle(data: bytes, layout: PixelLayout) -> bytes:
    """The segments that the frame needs, each up to its last pixel, and a header that names no others."""
    if layout.allocated == 1:
        needed, size = 1, -(-layout.frame_bits // 8)
    else:
        needed, size = layout.samples * layout.allocated // 8, layout.rows * layout.columns
    stated = int.from_bytes(data[:4], "little")
    if not needed <= stated <= _RLE_SEGMENTS or len(data) < _RLE_HEADER:
        raise _damaged()
    offsets = [int.from_bytes(data[4 * n : 4 * n + 4], "little") for n in range(1, stated + 1)]
    segments, places = [], [_RLE_HEADER]
    for number in range(needed):
        end = offsets[number + 1] if number + 1 < stated else len(data)
        segment = _packed_bytes(data[offsets[number] : end], size)
        segments.append(segment + b"\0" * (len(segment) % 2))
        places.append(places[-1] + len(segments[-1]))
    header = b"".join(one.to_bytes(4, "little") for one in (needed, *places[:-1]))
    return b"".join((header.ljust(_RLE_HEADER, b"\0"), *segments))


def _packed_bytes(segment: bytes, size: int) -> bytes:
    """The beginning of a segment that unpacks to ``size`` bytes."""
    place = unpacked = 0
    while unpacked < size:
        count = segment[place]
        if count < 128:
            place, unpacked = place + 2 + count, unpacked + 1 + count
        elif count > 128:
            place, unpacked = place + 2, unpacked + 257 - count
        else:
            place += 1
    if place > len(segment):
        raise _damaged()
    return segment[:place]


def _clean_deflated(data: bytes, layout: PixelLayout) -> bytes:
    size = -(-layout.frame_bits // 8)
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    pixels = decompressor.decompress(data, size)
    if len(pixels) < size:
        raise _damaged()
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(pixels) + compressor.flush()


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
