"""Bring a row of the catalogue back of which a single bit changed: its check sum tells which bit it was."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from semblance.core.library.row_sums import quoted, sum_of_row, text_of

_INTEGER_BITS = 64
#: Kinds of values whose bytes stand in the file as they are.
_PLAIN = ("text", "blob")
#: How bytes are put in as what they were.
_PLACES = {"text": "CAST(? AS TEXT)", "integer": "CAST(? AS INTEGER)", "real": "CAST(? AS REAL)"}


@dataclass(frozen=True)
class Value:
    """A value as a sum takes it: its kind by SQLite's name, and its bytes, ``None`` for NULL."""

    kind: str
    data: bytes | None


def bring_back(connection: sqlite3.Connection, table: str, columns: Sequence[str], row: int) -> bool:
    """Whether ``row`` of ``table``, by its rowid, is again what its sum was worked out of.

    ``columns``: those the sum is of, in its order. The connection must keep sums.
    """
    names = [quoted(name) for name in columns]
    asked = ",".join(f"typeof({name}),CAST({name} AS BLOB)" for name in names)
    query = f"SELECT row_sum,{asked} FROM {quoted(table)} WHERE rowid = ?"
    found = connection.execute(query, (row,)).fetchone()
    if found is None:
        # Another program took it out meanwhile.
        return True
    if found[0] is None:
        return False
    was = int(found[0])
    values = [Value(text_of(kind), data) for kind, data in zip(found[1::2], found[2::2], strict=True)]
    before = as_written(values, was)
    if before is None:
        return False
    put = ",".join(
        f"{name} = {_PLACES.get(value.kind, '?')}" for name, value in zip(names, before, strict=True)
    )
    update = f"UPDATE OR IGNORE {quoted(table)} SET {put} WHERE rowid = ?"
    if not connection.execute(update, (*(_bound(value) for value in before), row)).rowcount:
        # What it was is there already, in a catalogue that was salvaged.
        connection.execute(f"DELETE FROM {quoted(table)} WHERE rowid = ?", (row,))
    return True


def _bound(value: Value) -> bytes | str | None:
    if value.kind in ("integer", "real"):
        assert value.data is not None
        return value.data.decode()
    return value.data


def as_written(values: Sequence[Value], was: int) -> list[Value] | None:
    """The values whose sum is ``was``, one bit of the file apart from ``values``; ``None`` where none are, or
    the sum agrees.

    Where a bit of the sum itself changed, these are ``values``. By chance one row in a million that changed
    otherwise is taken for one of these: a row has some thousand bits, and a sum 2^32 values.
    """
    differing = _sum(values) ^ was
    if not differing:
        return None
    if differing.bit_count() == 1:
        return list(values)
    for place, changed in _other_kinds(values):
        if _sum(tried := _with(values, place, changed)) == was:
            return tried
    return _one_bit(values, differing)


def _sum(values: Sequence[Value]) -> int:
    return sum_of_row(",".join(value.kind for value in values), *(value.data for value in values))


def _with(values: Sequence[Value], place: int, changed: Value) -> list[Value]:
    return [*values[:place], changed, *values[place + 1 :]]


def _other_kinds(values: Sequence[Value]) -> Iterator[tuple[int, Value]]:
    """What a bit of a whole number, or of the kind of a value, may have been; SQLite stores 0, 1 and NULL as
    kinds of their own (https://sqlite.org/fileformat.html 2.1)."""
    for place, value in enumerate(values):
        if value.kind in _PLAIN:
            yield place, replace(value, kind="blob" if value.kind == "text" else "text")
        elif value.kind == "null":
            yield place, Value("integer", b"0")
        elif value.kind == "integer":
            number = int(value.data or b"0")
            if number in (0, 1):
                yield place, Value("integer", b"%d" % (1 - number))
            if number == 0:
                yield place, Value("null", None)
            for bit in range(_INTEGER_BITS):
                flipped = (number & (2**_INTEGER_BITS - 1)) ^ (1 << bit)
                signed = flipped - 2**_INTEGER_BITS if flipped >> (_INTEGER_BITS - 1) else flipped
                yield place, Value("integer", b"%d" % signed)


def _one_bit(values: Sequence[Value], differing: int) -> list[Value] | None:
    """``values`` with the bit of a text or blob turned that makes the sum differ by ``differing``.

    A CRC is linear: what a turned bit does to it depends on its distance from the end alone.
    """
    effects = [_TABLE[1 << bit] for bit in range(8)]
    for place in range(len(values) - 1, -1, -1):
        data = values[place].data or b""
        for at in range(len(data) - 1, -1, -1):
            if differing in effects:
                if values[place].kind not in _PLAIN:
                    return None
                turned = bytearray(data)
                turned[at] ^= 1 << effects.index(differing)
                return _with(values, place, replace(values[place], data=bytes(turned)))
            effects = [(effect >> 8) ^ _TABLE[effect & 0xFF] for effect in effects]
    return None


def _table() -> list[int]:
    """What a last byte does to a CRC-32."""
    nothing = zlib.crc32(b"\0")
    return [zlib.crc32(bytes((byte,))) ^ nothing for byte in range(256)]


_TABLE = _table()
