"""Repair a catalogue: its unreadable rows, rows that point to nothing, or a new one of all that can be read."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from semblance.core.files import move
from semblance.core.library import schema
from semblance.core.library.catalogue_damage import (
    columns_of,
    kept_columns,
    quoted,
    read_only,
    readable,
    text_of,
)
from semblance.core.library.database import BUSY_S, create_tables

#: Tables that importing again fills.
_IMPORTED_AGAIN = ("files", "cases", "slices")
#: Of the file: its header, and the pages SQLite makes unless told otherwise.
_HEADER_BYTES, _PAGE_BYTES = 100, 4096


@contextlib.contextmanager
def _for_writing(file: Path) -> Iterator[sqlite3.Connection]:
    """One transaction."""
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        yield connection


def remove_orphans(file: Path) -> int:
    """Take out rows that point to something that is not there; how many they were."""
    with _for_writing(file) as connection:
        return _remove_orphans(connection)


def repair_rows(file: Path, rows: Mapping[str, Sequence[int]]) -> int:
    """Make rows readable or take them out; how many were taken out.

    Letters that are none become a question mark where the row then can be read; rows of files and cases go,
    for importing again brings them back as they were.
    """
    removed = 0
    with _for_writing(file) as connection:
        connection.text_factory = bytes
        for name, numbers in rows.items():
            table = schema.tables.tables[name]
            columns = kept_columns(connection, table)
            names = ",".join(f'"{column.name}"' for column in columns)
            for number in numbers:
                values = connection.execute(
                    f'SELECT {names} FROM "{name}" WHERE rowid = ?', (number,)
                ).fetchone()
                texts = [_legible(column, value) for column, value in zip(columns, values, strict=True)]
                if name in _IMPORTED_AGAIN or not all(map(readable, columns, texts)):
                    connection.execute(f'DELETE FROM "{name}" WHERE rowid = ?', (number,))
                    removed += 1
                    continue
                for column, text, value in zip(columns, texts, values, strict=True):
                    if text != value and text is not None:
                        put = f'UPDATE OR IGNORE "{name}" SET "{column.name}" = ? WHERE rowid = ?'
                        connection.execute(put, (text.decode("utf-8"), number))
    return removed


def _legible(column: sa.Column[Any], value: Any) -> Any:
    if not isinstance(value, bytes) or isinstance(column.type, sa.LargeBinary):
        return value
    return text_of(value).encode("utf-8")


def _remove_orphans(connection: sqlite3.Connection) -> int:
    removed = 0
    while found := {(r[0], r[1]) for r in connection.execute("PRAGMA foreign_key_check")}:
        for table, row in found:
            removed += connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,)).rowcount
    return removed


def copy_catalogue(file: Path, target: Path) -> None:
    """A consistent copy of a catalogue that others may be writing to.

    Raises:
        sqlite3.DatabaseError: it cannot be read to its end.
        OSError: the copy cannot be written.
    """
    with read_only(file) as source, contextlib.closing(sqlite3.connect(target)) as made:
        source.backup(made)
        # One file, without a log beside it.
        made.execute("PRAGMA journal_mode=DELETE")


def recover_catalogue(file: Path, target: Path) -> dict[str, int]:
    """Make a catalogue ``target`` of all rows of ``file`` that can be read; rows saved by table.

    Rows are read from both ends of each table, up to what is damaged. What points to a lost row goes too.
    It is tried with the file as it is, and with its header and what describes its tables as they must have
    been; what gives more is kept.

    Raises:
        sqlite3.DatabaseError: not even its list of tables can be read.
    """
    headed, other = (target.with_name(f"{file.name}.{name}{target.suffix}") for name in ("headed", "other"))
    log, its_log = (one.with_name(one.name + "-wal") for one in (file, headed))
    made_for_now = [one.with_name(one.name + end) for one in (headed, other) for end in ("", "-wal", "-shm")]
    _remove(made_for_now)
    saved: dict[str, int] = {}
    try:
        with contextlib.suppress(sqlite3.DatabaseError):
            saved = _salvage(file, target)
        with file.open("rb") as whole:
            head = whole.read(_HEADER_BYTES)
        size = file.stat().st_size
        shutil.copyfile(file, headed)
        with headed.open("r+b") as copy:
            copy.write(_header(head, size))
        if log.exists():
            shutil.copyfile(log, its_log)
        with contextlib.suppress(sqlite3.DatabaseError):
            _describe(headed)
        try:
            again = _salvage(headed, other)
        except sqlite3.DatabaseError:
            if not saved:
                raise
            return saved
        if sum(again.values()) > sum(saved.values()):
            move(other, target)
            return again
        return saved
    finally:
        _remove(made_for_now)


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _header(head: bytes, size: int) -> bytes:
    """The header SQLite gives a catalogue of ``size`` bytes (https://sqlite.org/fileformat.html 1.3) in place
    of ``head``, whose count of changes is kept; no page is taken for free."""
    made = bytearray(head.ljust(_HEADER_BYTES, b"\0"))
    made[:24] = b"SQLite format 3\0" + _PAGE_BYTES.to_bytes(2, "big") + bytes((2, 2, 0, 64, 32, 32))
    made[28:32] = (size // _PAGE_BYTES).to_bytes(4, "big")
    made[32:40] = bytes(8)
    made[44:48] = (4).to_bytes(4, "big")
    made[48:72] = bytes(8) + (1).to_bytes(4, "big") + bytes(12)
    made[72:92] = bytes(20)
    made[92:96] = made[24:28]
    return bytes(made)


def _describe(file: Path) -> None:
    """Describe tables anew whose own description cannot be read any more. The columns stand in the same order
    in every catalogue, whichever version made it."""
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        connection.text_factory = text_of
        connection.execute("PRAGMA writable_schema=ON")
        for table in schema.tables.sorted_tables:
            if not columns_of(connection, table.name):
                told = str(CreateTable(table).compile(dialect=sqlite.dialect())).strip()
                put = "UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?"
                connection.execute(put, (told, table.name))


class _Text(bytes):
    """Text as its bytes, which may be no letters any more; a blob is plain bytes."""


def _salvage(file: Path, target: Path) -> dict[str, int]:
    create_tables(target)
    saved: dict[str, int] = {}
    with (
        read_only(file) as source,
        contextlib.closing(sqlite3.connect(target, timeout=BUSY_S)) as made,
        made,
    ):
        # A file that was cut short is read as far as it goes.
        source.execute("PRAGMA writable_schema=ON")
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = {r[0] for r in source.execute(query).fetchall()}.union(schema.tables.tables)
        there = {name: columns for name in sorted(names) if (columns := columns_of(source, name))}
        source.text_factory = _Text
        for table in schema.tables.sorted_tables:
            name = table.name if table.name in there else _renamed(table, there)
            places = _matched([column.name for column in table.columns], there.get(name, []))
            if places:
                saved[table.name] = _copy(source, made, (name, len(there[name])), table.name, places)
        _remove_orphans(made)
        return {name: made.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in saved}


def _renamed(table: sa.Table, there: Mapping[str, Sequence[str]]) -> str:
    """What a table is called by now that has all columns of ``table``; empty where there is none."""
    wanted = {column.name for column in table.columns}
    strange = [name for name in there if name not in schema.tables.tables]
    return next((name for name in strange if set(there[name]) - {schema.DROPPED_COLUMN} == wanted), "")


def _matched(wanted: Sequence[str], there: Sequence[str]) -> dict[str, int]:
    """Columns, and where a damaged catalogue has them; a single one of another name is the missing one."""
    found = {name: there.index(name) for name in wanted if name in there}
    missing = [name for name in wanted if name not in there]
    strange = [place for place, name in enumerate(there) if name not in (*wanted, schema.DROPPED_COLUMN)]
    if len(missing) == len(strange) == 1:
        found[missing[0]] = strange[0]
    return found


def _copy(
    source: sqlite3.Connection,
    made: sqlite3.Connection,
    of: tuple[str, int],
    table: str,
    columns: Mapping[str, int],
) -> int:
    """Rows of the table ``of``, its name and number of columns, into ``table``, byte by byte; ``columns``:
    where they stand there."""
    name, width = of
    # By other names: Python cannot take some that a damaged catalogue may have.
    called = [f"c{place}" for place in range(width)]
    result_rows = f"WITH it(number,{','.join(called)}) AS (SELECT rowid,* FROM {quoted(name)} NOT INDEXED)"
    read = ",".join(called[place] for place in columns.values())
    written = ",".join(map(quoted, columns))
    copied = 0
    for order in ("ASC", "DESC"):
        whole = False
        with contextlib.suppress(sqlite3.DatabaseError):
            rows = source.execute(f"{result_rows} SELECT {read} FROM it ORDER BY number {order}")
            while row := rows.fetchone():
                places = ",".join("CAST(? AS TEXT)" if isinstance(value, _Text) else "?" for value in row)
                put = f'INSERT OR IGNORE INTO "{table}" ({written}) VALUES ({places})'
                copied += max(0, made.execute(put, row).rowcount)
            whole = True
        if whole:
            break
    return copied
