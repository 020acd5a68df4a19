"""What is wrong with a catalogue: its form, its tables, and rows that cannot be read or were changed."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from semblance.core.language import tr_lazy
from semblance.core.library import schema
from semblance.core.library.database import BUSY_S, disk_is_full, made_by_newer, plain_error

#: What SQLite says when asked whether a file is whole.
WHOLE = "ok"
#: Lines of SQLite's list of errors that are looked at.
FEW = 20
_NUMBER_BYTES = 8


@contextlib.contextmanager
def read_only(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing, also where nothing can be written."""
    # SQLite reads no catalogue with a log where it cannot write, unless told that nobody writes.
    may_write = os.access(file.parent, os.W_OK) and os.access(file, os.W_OK)
    closed = not may_write or disk_is_full(file)
    log = file.with_name(file.name + "-wal")
    immutable = "&immutable=1" if closed and not (log.exists() and log.stat().st_size) else ""
    uri = f"{file.absolute().as_uri()}?mode=ro{immutable}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S)) as connection:
        connection.text_factory = text_of
        try:
            yield connection
        except UnicodeDecodeError as error:
            # What SQLite says of a damaged list of tables may hold letters that are none.
            raise sqlite3.DatabaseError("malformed database schema") from error


def integrity_errors(file: Path) -> list[str]:
    """What SQLite finds wrong with ``file``; empty where it is whole.

    Raises:
        SemblanceError: a full disk keeps it from being read.
    """
    try:
        with read_only(file) as connection:
            found = [r[0] for r in connection.execute(f"PRAGMA integrity_check({FEW})")]
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and disk_is_full(file):
            raise plain_error(file.parent, str(error)) from error
        return [str(error)]
    lines = [line for told in found for line in str(told).splitlines() if not line.startswith("***")]
    return [] if found == [WHOLE] else lines or ["it cannot be read"]


def missing_columns(file: Path) -> list[str]:
    """Tables, columns and references that a whole catalogue of this version does not have: their names were
    changed."""
    with read_only(file) as connection:
        there = {table.name: columns_of(connection, table.name) for table in schema.tables.sorted_tables}
        if _version(connection, there["meta"]) not in (None, schema.VERSION):
            return []
        found = [
            tr_lazy("its table '{table}' has no '{column}'", table=table.name, column=column.name)
            for table in schema.tables.sorted_tables
            for column in table.columns
            if column.name not in there[table.name]
        ]
        try:
            connection.execute("PRAGMA foreign_key_check").fetchone()
        except sqlite3.OperationalError as error:
            found.append(str(error))
        return found


def refuse_newer(file: Path) -> None:
    """Nothing is said of a sound catalogue whose tables this version does not know.

    Raises:
        BadInput: it was made by a newer version.
    """
    with contextlib.suppress(sqlite3.DatabaseError), read_only(file) as connection:
        version = _version(connection, columns_of(connection, "meta"))
        if version is not None and version > schema.VERSION:
            raise made_by_newer(file, version)


def _version(connection: sqlite3.Connection, columns: Sequence[str]) -> int | None:
    """What a catalogue whose settings have these ``columns`` says; ``None`` where that is no number."""
    if len(columns) < 2:
        return None
    query = f"SELECT {quoted(columns[1])} FROM meta WHERE {quoted(columns[0])} = 'schema'"
    told = str((connection.execute(query).fetchone() or ("",))[0])
    return int(told) if told.isdecimal() else None


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of ``table`` a catalogue has, in the order they stand; none without such a table."""
    return [text_of(r[0]) for r in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def orphan_rows(file: Path) -> dict[str, int]:
    """Table -> rows that point to something that is not there."""
    found: dict[str, int] = {}
    with read_only(file) as connection:
        for table, *_ in connection.execute("PRAGMA foreign_key_check"):
            found[table] = found.get(table, 0) + 1
    return found


def unreadable_rows(file: Path) -> dict[str, list[int]]:
    """Table -> rows (by their rowid) with text that is no text, or no JSON where it should be.

    A catalogue of before version 6 has no check sums: of what changed on the disk only this and the form of
    its pages can be seen.
    """
    found: dict[str, list[int]] = {}
    with read_only(file) as connection:
        connection.text_factory = bytes
        for table in schema.tables.sorted_tables:
            columns = kept_columns(connection, table)
            if not columns:
                continue
            names = ",".join(f'"{column.name}"' for column in columns)
            for row, *values in connection.execute(f'SELECT rowid, {names} FROM "{table.name}"'):
                if not all(map(readable, columns, values)):
                    found.setdefault(table.name, []).append(row)
    return found


def kept_columns(connection: sqlite3.Connection, table: sa.Table) -> list[sa.Column[Any]]:
    """Columns of ``table`` that a catalogue has, which an older program may have made."""
    there = columns_of(connection, table.name)
    return [column for column in table.columns if column.name in there]


def readable(column: sa.Column[Any], value: object) -> bool:
    """Whether ``value``, bytes where it is text, is what ``column`` holds."""
    if value is None or isinstance(value, (int, float)):
        return True
    assert isinstance(value, bytes)
    if isinstance(column.type, sa.LargeBinary):
        return len(value) % _NUMBER_BYTES == 0
    try:
        text = value.decode("utf-8")
        if isinstance(column.type, sa.JSON):
            json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def quoted(name: str) -> str:
    """A name in SQL, whatever characters a damaged catalogue has in it."""
    return '"' + name.replace('"', '""') + '"'


def text_of(value: str | bytes) -> str:
    """A text out of a damaged catalogue, with a replacement character for each byte that is not UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
