"""ONNX models written by hand, byte by byte: as little of protobuf as they need."""

from __future__ import annotations


def number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(place: int, content: bytes | str | int) -> bytes:
    """Field ``place`` of a message: a number, or what has a length."""
    if isinstance(content, int):
        return number(place << 3) + number(content)
    data = content.encode() if isinstance(content, str) else content
    return number(place << 3 | 2) + number(len(data)) + data


def external_tensor(location: str) -> bytes:
    entry = field(1, "location") + field(2, location)
    offset = field(1, "offset") + field(2, "0")
    return field(1, 4) + field(2, 1) + field(8, "w") + field(13, offset) + field(13, entry) + field(14, 1)


def model(graph: bytes) -> bytes:
    """A model of ``graph``, in the version of 2024."""
    return field(1, 10) + field(7, graph) + field(8, field(1, "") + field(2, 21))
