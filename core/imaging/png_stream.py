"""How many bytes of pixels a PNG file holds.

Pillow leaves the rows black that a complete but too short stream of pixels does not reach.
"""

from __future__ import annotations

import struct
import zlib

#: Samples of a pixel by the colour type of the header.
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
#: Of the seven passes of interlacing: first column and row, and the distances between them.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_PART = 1 << 20


def has_all_pixels(data: bytes) -> bool:
    """Whether the stream of the PNG file ``data``, which was decoded without an error, reaches the last pixel."""
    needed, packed = _bytes_of_pixels(data[16:29]), 0
    unpacker = zlib.decompressobj()
    for start, end in _pixel_chunks(data):
        rest = data[start:end]
        while rest and not unpacker.eof:
            packed += len(unpacker.decompress(rest, _PART))
            rest = unpacker.unconsumed_tail
        if packed >= needed:
            return True
    return False


def _bytes_of_pixels(header: bytes) -> int:
    """Bytes of the unpacked stream, with the one of each row that names its filter."""
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    bits *= _SAMPLES[colour]
    sizes = [(width, height)]
    if interlaced:
        sizes = [
            (-(-(width - column) // across), -(-(height - row) // down))
            for column, row, across, down in _PASSES
        ]
    return sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in sizes if columns > 0 and rows > 0)


def _pixel_chunks(data: bytes) -> list[tuple[int, int]]:
    """Where the contents of the chunks IDAT begin and end."""
    found, at = [], 8
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IDAT":
            found.append((at + 8, at + 8 + length))
        at += 12 + length
    return found
