"""Find damage in a catalogue: in its pages, its tables and its rows."""

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
from semblance.core.library.database import BUSY_S, disk_is_full, other_version_error, plain_error

#: SQLite's answer to an integrity check of an intact file.
INTACT = "ok"
#: Number of errors that SQLite lists at most.
MAX_ERRORS = 20
_NUMBER_BYTES = 8


@contextlib.contextmanager
def read_only(file: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection, also where nothing can be written."""
    # Where it cannot write, SQLite reads a catalogue with a log only when it is opened as immutable.
    may_write = os.access(file.parent, os.W_OK) and os.access(file, os.W_OK)
    unwritable = not may_write or disk_is_full(file)
    log = file.with_name(file.name + "-wal")
    immutable = "&immutable=1" if unwritable and not (log.exists() and log.stat().st_size) else ""
    uri = f"{file.absolute().as_uri()}?mode=ro{immutable}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S)) as connection:
        connection.text_factory = text_of
        try:
            yield connection
        except UnicodeDecodeError as error:
            # SQLite's message about a damaged list of tables may not be valid UTF-8.
            raise sqlite3.DatabaseError("malformed database schema") from error


def integrity_errors(file: Path) -> list[str]:
    """The errors that SQLite finds in ``file``; empty where it is intact.

    Raises:
        SemblanceError: it cannot be read because the disk is full.
    """
    try:
        with read_only(file) as connection:
            found = [r[0] for r in connection.execute(f"PRAGMA integrity_check({MAX_ERRORS})")]
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and disk_is_full(file):
            raise plain_error(file.parent, str(error)) from error
        return [str(error)]
    lines = [
        line for line_text in found for line in str(line_text).splitlines() if not line.startswith("***")
    ]
    return [] if found == [INTACT] else lines or ["it cannot be read"]


def missing_columns(file: Path) -> list[str]:
    """Tables, columns and references that an intact catalogue of this version has and this one lacks."""
    with read_only(file) as connection:
        existing = {table.name: columns_of(connection, table.name) for table in schema.tables.sorted_tables}
        found = [
            tr_lazy("its table '{table}' has no '{column}'", table=table.name, column=column.name)
            for table in schema.tables.sorted_tables
            for column in table.columns
            if column.name not in existing[table.name]
        ]
        try:
            connection.execute("PRAGMA foreign_key_check").fetchone()
        except sqlite3.OperationalError as error:
            found.append(str(error))
        return found


def refuse_other_version(file: Path) -> None:
    """Refuse a catalogue whose tables this version of the program does not know.

    Raises:
        BadInput: it was made by another version.
    """
    with contextlib.suppress(sqlite3.DatabaseError), read_only(file) as connection:
        version = _version(connection, columns_of(connection, "meta"))
        if version not in (None, schema.VERSION):
            raise other_version_error(file.parent, version)


def _version(connection: sqlite3.Connection, columns: Sequence[str]) -> int | None:
    """The version of a catalogue whose table ``meta`` has these ``columns``; ``None`` where it is not a number."""
    if len(columns) < 2:
        return None
    query = f"SELECT {quoted(columns[1])} FROM meta WHERE {quoted(columns[0])} = 'schema'"
    line_text = str((connection.execute(query).fetchone() or ("",))[0])
    return int(line_text) if line_text.isdecimal() else None


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of ``table`` in a catalogue, in their order; none without such a table."""
    return [text_of(r[0]) for r in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def orphan_rows(file: Path) -> dict[str, int]:
    """Table -> number of rows that refer to a row that does not exist."""
    found: dict[str, int] = {}
    with read_only(file) as connection:
        for table, *_ in connection.execute("PRAGMA foreign_key_check"):
            found[table] = found.get(table, 0) + 1
    return found


def unreadable_rows(file: Path) -> dict[str, list[int]]:
    """Table -> rows (by their rowid) whose text is not valid UTF-8, or not JSON of its column's kind."""
    found: dict[str, list[int]] = {}
    with read_only(file) as connection:
        connection.text_factory = bytes
        for table in schema.tables.sorted_tables:
            columns = existing_columns(connection, table)
            if not columns:
                continue
            names = ",".join(f'"{column.name}"' for column in columns)
            for row, *values in connection.execute(f'SELECT rowid, {names} FROM "{table.name}"'):
                if not all(map(is_readable, columns, values)):
                    found.setdefault(table.name, []).append(row)
    return found


def existing_columns(connection: sqlite3.Connection, table: sa.Table) -> list[sa.Column[Any]]:
    """Columns of ``table`` that exist in a catalogue, which may be damaged."""
    existing = columns_of(connection, table.name)
    return [column for column in table.columns if column.name in existing]


def is_readable(column: sa.Column[Any], value: object) -> bool:
    """Whether ``value`` (bytes where it is text) is valid for ``column``."""
    if value is None or isinstance(value, (int, float)):
        return True
    assert isinstance(value, bytes)
    if isinstance(column.type, sa.LargeBinary):
        return len(value) % _NUMBER_BYTES == 0
    try:
        text = value.decode("utf-8")
        if isinstance(column.type, schema.JsonOf):
            return column.type.accepts(json.loads(text))
        if isinstance(column.type, sa.JSON):
            json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def quoted(name: str) -> str:
    """A quoted SQL name; a damaged catalogue may have any characters in it."""
    return '"' + name.replace('"', '""') + '"'


def text_of(value: str | bytes) -> str:
    """Text from a damaged catalogue, with a replacement character for each byte that is not UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
