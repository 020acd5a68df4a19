"""Repair a catalogue: remove unreadable and orphan rows, or recover a new one from all rows that can be read."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from semblance.core.files import copy_private, create_private, move
from semblance.core.language import tr_lazy
from semblance.core.library import schema
from semblance.core.library.database import (
    BUSY_S,
    create_tables,
    disk_is_full,
    other_version_error,
    plain_error,
)

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
        # The version before has no such tables; they are made when it is opened to be written to.
        is_earlier = _version(connection, columns_of(connection, "meta")) == schema.VERSION - 1
        expected = [
            table for table in schema.tables.sorted_tables if not (is_earlier and table in schema.NEW_TABLES)
        ]
        existing = {table.name: columns_of(connection, table.name) for table in expected}
        found = [
            tr_lazy("its table '{table}' has no '{column}'", table=table.name, column=column.name)
            for table in expected
            for column in table.columns
            if column.name not in existing[table.name]
        ]
        # Without it the triggers of the tables fail.
        index, column = (schema.HEADER_TEXTS, "text") if is_earlier else (schema.CASE_TEXTS, "finding")
        if column not in columns_of(connection, index):
            found.append(tr_lazy("its table '{table}' has no '{column}'", table=index, column=column))
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
        if version not in (None, schema.VERSION, schema.VERSION - 1):
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


#: Tables that importing again restores.
_IMPORTED_AGAIN = ("files", "cases", "slices")
#: Size of SQLite's file header, and its default page size.
_HEADER_BYTES, _PAGE_BYTES = 100, 4096


@contextlib.contextmanager
def _write_transaction(file: Path) -> Iterator[sqlite3.Connection]:
    """One transaction."""
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        yield connection


def remove_orphans(file: Path) -> int:
    """Remove rows that refer to a row that does not exist; the number removed."""
    with _write_transaction(file) as connection:
        return _remove_orphans(connection)


def repair_rows(file: Path, rows: Mapping[str, Sequence[int]]) -> int:
    """Make rows readable or remove them; the number removed.

    Invalid bytes of a text become a replacement character where the row can be read then. Rows of files and
    cases are removed, because importing again restores them.
    """
    removed = 0
    with _write_transaction(file) as connection:
        connection.text_factory = bytes
        for name, numbers in rows.items():
            table = schema.tables.tables[name]
            columns = existing_columns(connection, table)
            names = ",".join(f'"{column.name}"' for column in columns)
            for number in numbers:
                values = connection.execute(
                    f'SELECT {names} FROM "{name}" WHERE rowid = ?', (number,)
                ).fetchone()
                texts = [_as_valid_text(column, value) for column, value in zip(columns, values, strict=True)]
                if name in _IMPORTED_AGAIN or not all(map(is_readable, columns, texts)):
                    connection.execute(f'DELETE FROM "{name}" WHERE rowid = ?', (number,))
                    removed += 1
                    continue
                for column, text, value in zip(columns, texts, values, strict=True):
                    if text != value and text is not None:
                        statement = f'UPDATE OR IGNORE "{name}" SET "{column.name}" = ? WHERE rowid = ?'
                        connection.execute(statement, (text.decode("utf-8"), number))
    return removed


def _as_valid_text(column: sa.Column[Any], value: Any) -> Any:
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
    create_private(target)
    with read_only(file) as source, contextlib.closing(sqlite3.connect(target)) as made:
        source.backup(made)
        # A single file without a write-ahead log.
        made.execute("PRAGMA journal_mode=DELETE")


def recover_catalogue(file: Path, target: Path) -> dict[str, int]:
    """Make a catalogue ``target`` of all rows of ``file`` that can be read; the number of rows by table.

    Rows are read from both ends of each table, up to the damage. Rows that refer to a lost row are removed.
    The file is read as it is, and again with a new header and new table definitions; the result with more rows
    is used.

    Raises:
        sqlite3.DatabaseError: not even its list of tables can be read.
    """
    with_new_header, recovered = (
        target.with_name(f"{file.name}.{name}{target.suffix}") for name in ("headed", "other")
    )
    log, its_log = (one.with_name(one.name + "-wal") for one in (file, with_new_header))
    temporary_files = [
        one.with_name(one.name + end) for one in (with_new_header, recovered) for end in ("", "-wal", "-shm")
    ]
    _remove(temporary_files)
    saved: dict[str, int] = {}
    try:
        with contextlib.suppress(sqlite3.DatabaseError):
            saved = _copy_readable_rows(file, target)
        with file.open("rb") as whole:
            head = whole.read(_HEADER_BYTES)
        size = file.stat().st_size
        copy_private(file, with_new_header)
        with with_new_header.open("r+b") as copy:
            copy.write(_new_header(head, size))
        if log.exists():
            copy_private(log, its_log)
        with contextlib.suppress(sqlite3.DatabaseError):
            _rewrite_table_definitions(with_new_header)
        try:
            again = _copy_readable_rows(with_new_header, recovered)
        except sqlite3.DatabaseError:
            if not saved:
                raise
            return saved
        if sum(again.values()) > sum(saved.values()):
            move(recovered, target)
            return again
        return saved
    finally:
        _remove(temporary_files)


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _new_header(head: bytes, size: int) -> bytes:
    """The header of a catalogue of ``size`` bytes (https://sqlite.org/fileformat.html 1.3) with the change
    counter of the old header ``head`` and without free pages."""
    made = bytearray(head.ljust(_HEADER_BYTES, b"\0"))
    made[:24] = b"SQLite format 3\0" + _PAGE_BYTES.to_bytes(2, "big") + bytes((2, 2, 0, 64, 32, 32))
    made[28:32] = (size // _PAGE_BYTES).to_bytes(4, "big")
    made[32:40] = bytes(8)
    made[44:48] = (4).to_bytes(4, "big")
    made[48:72] = bytes(8) + (1).to_bytes(4, "big") + bytes(12)
    made[72:92] = bytes(20)
    made[92:96] = made[24:28]
    return bytes(made)


def _rewrite_table_definitions(file: Path) -> None:
    """Write the definitions of tables whose own cannot be read."""
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        connection.text_factory = text_of
        connection.execute("PRAGMA writable_schema=ON")
        for table in schema.tables.sorted_tables:
            if not columns_of(connection, table.name):
                definition = str(CreateTable(table).compile(dialect=sqlite.dialect())).strip()
                statement = "UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?"
                connection.execute(statement, (definition, table.name))


class _TextBytes(bytes):
    """The bytes of a text, which may not be valid UTF-8; a blob is plain bytes."""


def _copy_readable_rows(file: Path, target: Path) -> dict[str, int]:
    create_tables(target)
    saved: dict[str, int] = {}
    with read_only(file) as source, contextlib.closing(sqlite3.connect(target, timeout=BUSY_S)) as made, made:
        # Read a truncated file up to its end.
        source.execute("PRAGMA writable_schema=ON")
        # The index of texts may be damaged; it is made again.
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND coalesce(sql, '') NOT LIKE 'CREATE VIRTUAL%'"
        names = {r[0] for r in source.execute(query).fetchall()}.union(schema.tables.tables)
        existing = {name: columns for name in sorted(names) if (columns := columns_of(source, name))}
        source.text_factory = _TextBytes
        for table in schema.tables.sorted_tables:
            name = table.name if table.name in existing else _name_of_renamed_table(table, existing)
            places = _match_columns([column.name for column in table.columns], existing.get(name, []))
            if places:
                saved[table.name] = _copy_rows(source, made, (name, len(existing[name])), table.name, places)
        _remove_orphans(made)
        return {name: made.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in saved}


def _name_of_renamed_table(table: sa.Table, existing: Mapping[str, Sequence[str]]) -> str:
    """The name of an unknown table that has all columns of ``table``; empty where there is none."""
    required = {column.name for column in table.columns}
    unknown = [name for name in existing if name not in schema.tables.tables]
    return next((name for name in unknown if set(existing[name]) == required), "")


def _match_columns(required: Sequence[str], existing: Sequence[str]) -> dict[str, int]:
    """Column -> its index in a damaged catalogue; a single column of an unknown name is taken for a single missing
    one."""
    found = {name: existing.index(name) for name in required if name in existing}
    missing = [name for name in required if name not in existing]
    unknown = [place for place, name in enumerate(existing) if name not in required]
    if len(missing) == len(unknown) == 1:
        found[missing[0]] = unknown[0]
    return found


def _copy_rows(
    source: sqlite3.Connection,
    made: sqlite3.Connection,
    origin: tuple[str, int],
    table: str,
    columns: Mapping[str, int],
) -> int:
    """Copy the rows of the table ``origin`` (name, number of columns) into ``table``; ``columns``: column -> its
    index in ``origin``. The number of rows copied."""
    name, width = origin
    # Use aliases: a damaged catalogue may have column names that Python cannot decode.
    aliases = [f"c{place}" for place in range(width)]
    result_rows = f"WITH it(number,{','.join(aliases)}) AS (SELECT rowid,* FROM {quoted(name)} NOT INDEXED)"
    read = ",".join(aliases[place] for place in columns.values())
    written = ",".join(map(quoted, columns))
    copied = 0

    def copy(row: Sequence[Any]) -> int:
        places = ",".join("CAST(? AS TEXT)" if isinstance(value, _TextBytes) else "?" for value in row)
        statement = f'INSERT OR IGNORE INTO "{table}" ({written}) VALUES ({places})'
        return max(0, made.execute(statement, row).rowcount)

    for order, beyond in (("ASC", ">"), ("DESC", "<")):
        last = None
        with contextlib.suppress(sqlite3.DatabaseError):
            rows = source.execute(f"{result_rows} SELECT number,{read} FROM it ORDER BY number {order}")
            while row := rows.fetchone():
                last = row[0]
                copied += copy(row[1:])
            break
        # A cursor reads one row ahead: where that one is damaged, the intact row before it is lost with it.
        with contextlib.suppress(sqlite3.DatabaseError):
            rest = "" if last is None else f"WHERE number {beyond} {last}"
            if row := source.execute(
                f"{result_rows} SELECT {read} FROM it {rest} ORDER BY number {order} LIMIT 1"
            ).fetchone():
                copied += copy(row)
    return copied
