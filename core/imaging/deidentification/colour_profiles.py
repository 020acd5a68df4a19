"""ICC profiles without their texts (ISO 15076-1): only the tags that colours are computed with are kept."""

from __future__ import annotations

import struct

_HEADER, _ENTRY = 128, 12
_MOST_TAGS, _MOST_BYTES = 64, 4 << 20
#: White, adaptation, primaries, curves and tables, each with the types it may have: those whose length their numbers
#: tell, so that nothing lies between or behind them.
_CURVES, _TABLES = (b"curv", b"para"), (b"mft1", b"mft2")
_KEPT: dict[bytes, tuple[bytes, ...]] = {
    **dict.fromkeys((b"wtpt", b"bkpt", b"rXYZ", b"gXYZ", b"bXYZ", b"lumi"), (b"XYZ ",)),
    b"chad": (b"sf32",),
    **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC", b"kTRC"), _CURVES),
    **dict.fromkeys((b"A2B0", b"A2B1", b"A2B2", b"B2A0", b"B2A1", b"B2A2"), _TABLES),
}
#: Classes, colour spaces and connection spaces that images have.
_CLASSES, _SPACES, _CONNECTIONS = (
    (b"mntr", b"scnr", b"prtr", b"spac"),
    (b"RGB ", b"GRAY", b"CMYK", b"Lab ", b"XYZ "),
    (b"XYZ ", b"Lab "),
)
_D50 = struct.pack(">3i", 0xF6D6, 0x10000, 0xD32D)
_DATE = struct.pack(">6H", 2000, 1, 1, 0, 0, 0)
_DESCRIPTION, _COPYRIGHT = "De-identified profile", "None"
_PARAMETERS = (1, 3, 4, 5, 7)


def without_texts(profile: bytes) -> bytes:
    """``profile`` with the same colours and no text of its own; empty where it is no profile that can be kept."""
    try:
        return _rebuilt(profile)
    except (IndexError, ValueError, struct.error):
        return b""


def _rebuilt(profile: bytes) -> bytes:
    head = profile[:_HEADER]
    kind, space, connection = head[12:16], head[16:20], head[20:24]
    if (
        head[36:40] != b"acsp"
        or kind not in _CLASSES
        or space not in _SPACES
        or connection not in _CONNECTIONS
        or len(profile) > _MOST_BYTES
    ):
        return b""
    (count,) = struct.unpack_from(">I", profile, _HEADER)
    if count > _MOST_TAGS:
        return b""
    kept: dict[bytes, bytes] = {}
    for number in range(count):
        name, offset, size = struct.unpack_from(">4sII", profile, _HEADER + 4 + _ENTRY * number)
        content = profile[offset : offset + size]
        if content[:4] in _KEPT.get(name, ()):
            kept[name] = _exact(content)
    is_readable = (
        {b"A2B0"} <= kept.keys() or {b"rTRC", b"gTRC", b"bTRC", b"rXYZ"} <= kept.keys() or b"kTRC" in kept
    )
    if not is_readable or b"wtpt" not in kept:
        return b""
    major = head[8]
    kept[b"desc"] = _described(major)
    kept[b"cprt"] = _unicode(_COPYRIGHT) if major >= 4 else b"text\0\0\0\0" + _COPYRIGHT.encode() + b"\0"
    return _assembled(head, kept)


def _exact(content: bytes) -> bytes:
    """The bytes of a tag that its type counts; reserved ones are zero."""
    kind = content[:4]
    (first,) = struct.unpack_from(">I", content, 8)
    size = len(content)
    if kind == b"XYZ ":
        size = 20
    elif kind == b"sf32":
        size = 44
    elif kind == b"curv":
        size = 12 + 2 * first
    elif kind == b"para":
        size = 12 + 4 * _PARAMETERS[first >> 16]
    elif kind in (b"mft1", b"mft2"):
        size = _table_size(content)
    if size > len(content):
        raise ValueError
    return kind + b"\0\0\0\0" + content[8:size]


def _table_size(content: bytes) -> int:
    inputs, outputs, points = content[8:11]
    width = 1 if content[:4] == b"mft1" else 2
    entries, exits = (256, 256) if width == 1 else struct.unpack_from(">HH", content, 48)
    numbers = entries * inputs + int(points) ** int(inputs) * outputs + exits * outputs
    return int((48 if width == 1 else 52) + width * numbers)


def _described(major: int) -> bytes:
    if major >= 4:
        return _unicode(_DESCRIPTION)
    text = _DESCRIPTION.encode() + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + b"\0" * 78


def _unicode(text: str) -> bytes:
    encoded = text.encode("utf-16-be")
    return b"mluc\0\0\0\0" + struct.pack(">II2s2sII", 1, 12, b"en", b"US", len(encoded), 28) + encoded


def _assembled(head: bytes, tags: dict[bytes, bytes]) -> bytes:
    offset = _HEADER + 4 + _ENTRY * len(tags)
    table, contents = [struct.pack(">I", len(tags))], []
    for name, content in tags.items():
        table.append(struct.pack(">4sII", name, offset, len(content)))
        contents.append(content + b"\0" * (-len(content) % 4))
        offset += len(contents[-1])
    (intent,) = struct.unpack_from(">I", head, 64)
    parts = (
        struct.pack(">I4x", offset),
        head[8:10] + b"\0\0",
        head[12:24] + _DATE + b"acsp",
        b"\0" * 24,
        struct.pack(">I", intent if intent <= 3 else 0) + _D50,
        b"\0" * 48,
    )
    return b"".join((*parts, *table, *contents))
