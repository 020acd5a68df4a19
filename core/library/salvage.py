"""What can be read of a damaged catalogue, and a new one made of it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.library import schema
from core.library.database import BUSY_S, create_tables, has_no_room, in_words
from core.library.row_sums import accept_rows, allow_sums, changed_rows, has_sums, keeping_sums

#: What SQLite says when asked whether a file is whole.
WHOLE = "ok"
#: Lines of SQLite's complaints that are looked at.
FEW = 20
_NUMBER_BYTES = 8
_IMPORTED_AGAIN = ("files", "cases", "slices")
#: What is extracted again, or would teach something false: better none than one that was changed.
_NOT_KEPT = (*_IMPORTED_AGAIN, "feature_chunks", "feature_failures", "judgements", "concept_marks")


@contextlib.contextmanager
def _read_only(file: Path) -> Iterator[sqlite3.Connection]:
    # SQLite reads no catalogue with a log where it cannot write, unless told that nobody writes.
    may_write = os.access(file.parent, os.W_OK) and os.access(file, os.W_OK)
    closed = not may_write or has_no_room(file)
    log = file.with_name(file.name + "-wal")
    immutable = "&immutable=1" if closed and not (log.exists() and log.stat().st_size) else ""
    uri = f"{file.absolute().as_uri()}?mode=ro{immutable}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S)) as connection:
        allow_sums(connection)
        yield connection


@contextlib.contextmanager
def _for_writing(file: Path) -> Iterator[sqlite3.Connection]:
    """One transaction, in which rows get their sums where the catalogue has them."""
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        allow_sums(connection)
        if has_sums(connection):
            for statement in keeping_sums():
                connection.execute(statement)
        yield connection


def complaints(file: Path) -> list[str]:
    """What SQLite finds wrong with ``file``; empty where it is whole.

    Raises:
        SemblanceError: a full disk keeps it from being read.
    """
    try:
        with _read_only(file) as connection:
            found = [r[0] for r in connection.execute(f"PRAGMA integrity_check({FEW})")]
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and has_no_room(file):
            raise in_words(file.parent, str(error)) from error
        return [str(error)]
    lines = [line for told in found for line in str(told).splitlines() if not line.startswith("***")]
    return [] if found == [WHOLE] else lines or ["it cannot be read"]


def orphans(file: Path) -> dict[str, int]:
    """Table -> rows that point to something that is not there."""
    found: dict[str, int] = {}
    with _read_only(file) as connection:
        for table, *_ in connection.execute("PRAGMA foreign_key_check"):
            found[table] = found.get(table, 0) + 1
    return found


def remove_orphans(file: Path) -> int:
    """Take out rows that point to something that is not there; how many they were."""
    with _for_writing(file) as connection:
        return _remove_orphans(connection)


def unreadable(file: Path) -> dict[str, list[int]]:
    """Table -> rows (by their rowid) with text that is no text, or no JSON where it should be.

    A catalogue of before version 6 has no check sums: of what changed on the disk only this and the form of
    its pages can be seen.
    """
    found: dict[str, list[int]] = {}
    with _read_only(file) as connection:
        connection.text_factory = bytes
        for table in schema.tables.sorted_tables:
            columns = _kept_columns(connection, table)
            if not columns:
                continue
            names = ",".join(f'"{column.name}"' for column in columns)
            for row, *values in connection.execute(f'SELECT rowid, {names} FROM "{table.name}"'):
                if not all(map(_readable, columns, values)):
                    found.setdefault(table.name, []).append(row)
    return found


def _kept_columns(connection: sqlite3.Connection, table: sa.Table) -> list[sa.Column[Any]]:
    """Columns of ``table`` that a catalogue has, which an older program may have made."""
    there = {bytes(r[1]) for r in connection.execute(f'PRAGMA table_info("{table.name}")')}
    return [column for column in table.columns if column.name.encode() in there]


def _readable(column: sa.Column[Any], value: object) -> bool:
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


def mend_rows(file: Path, rows: Mapping[str, Sequence[int]]) -> int:
    """Make rows readable or take them out; how many were taken out.

    Letters that are none become a question mark where the row then can be read; rows of files and cases go,
    for importing again brings them back as they were.
    """
    removed = 0
    with _for_writing(file) as connection:
        connection.text_factory = bytes
        for name, numbers in rows.items():
            table = schema.tables.tables[name]
            columns = _kept_columns(connection, table)
            names = ",".join(f'"{column.name}"' for column in columns)
            for number in numbers:
                values = connection.execute(
                    f'SELECT {names} FROM "{name}" WHERE rowid = ?', (number,)
                ).fetchone()
                texts = [_legible(column, value) for column, value in zip(columns, values, strict=True)]
                if name in _IMPORTED_AGAIN or not all(map(_readable, columns, texts)):
                    connection.execute(f'DELETE FROM "{name}" WHERE rowid = ?', (number,))
                    removed += 1
                    continue
                for column, text, value in zip(columns, texts, values, strict=True):
                    if text != value and text is not None:
                        put = f'UPDATE OR IGNORE "{name}" SET "{column.name}" = ? WHERE rowid = ?'
                        connection.execute(put, (text.decode("utf-8"), number))
    return removed


def changed(file: Path) -> dict[str, list[int]]:
    """Table -> rows, by their rowid, that are not as they were written: their sums do not agree."""
    with _read_only(file) as connection:
        return changed_rows(connection)


def names_of(file: Path, table: str, rows: Sequence[int]) -> list[str]:
    """What people call ``rows`` of ``table``, as far as they have names that can be read."""
    naming = next(
        (c.name for c in schema.tables.tables[table].columns if c.name in ("name", "case_id", "path")), ""
    )
    if not naming:
        return []
    with _read_only(file) as connection:
        connection.text_factory = _shown
        query = f'SELECT "{naming}" FROM "{table}" WHERE rowid = ?'
        return [str(connection.execute(query, (row,)).fetchone()[0]) for row in rows]


def settle_changed(file: Path, rows: Mapping[str, Sequence[int]]) -> int:
    """Take out rows that were changed and can be made again, or that would teach something false; the others
    are taken for what they hold now. How many were taken out."""
    removed = 0
    with _for_writing(file) as connection:
        for table, numbers in rows.items():
            if table not in _NOT_KEPT:
                accept_rows(connection, table, numbers)
                continue
            connection.executemany(f'DELETE FROM "{table}" WHERE rowid = ?', [(row,) for row in numbers])
            removed += len(numbers)
    return removed


def _legible(column: sa.Column[Any], value: Any) -> Any:
    if not isinstance(value, bytes) or isinstance(column.type, sa.LargeBinary):
        return value
    return _shown(value).encode("utf-8")


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
    with _read_only(file) as source, contextlib.closing(sqlite3.connect(target)) as made:
        source.backup(made)
        # One file, without a log beside it.
        made.execute("PRAGMA journal_mode=DELETE")


def salvage(file: Path, target: Path) -> dict[str, int]:
    """Make a catalogue ``target`` of all rows of ``file`` that can be read; rows saved by table.

    Rows are read from both ends of each table, up to what is damaged. What points to a lost row goes too.

    Raises:
        sqlite3.DatabaseError: not even its list of tables can be read.
    """
    create_tables(target)
    saved: dict[str, int] = {}
    with (
        _read_only(file) as source,
        contextlib.closing(sqlite3.connect(target, timeout=BUSY_S)) as made,
        made,
    ):
        allow_sums(made)
        # A file that was cut short is read as far as it goes.
        source.execute("PRAGMA writable_schema=ON")
        source.text_factory = _shown
        source.execute("SELECT name FROM sqlite_master").fetchall()
        for table in schema.tables.sorted_tables:
            there = {r[1] for r in source.execute(f'PRAGMA table_info("{table.name}")')}
            columns = [column.name for column in table.columns if column.name in there]
            if columns:
                saved[table.name] = _copy(source, made, table.name, columns)
        _remove_orphans(made)
        # What an older program wrote had no sums. Rows that had keep theirs, which tell what was changed.
        for name in saved:
            found = made.execute(f'SELECT rowid FROM "{name}" WHERE row_sum IS NULL').fetchall()
            accept_rows(made, name, [row for (row,) in found])
        return {name: made.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in saved}


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _copy(source: sqlite3.Connection, made: sqlite3.Connection, table: str, columns: list[str]) -> int:
    names = ",".join(f'"{name}"' for name in columns)
    put = f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({",".join("?" * len(columns))})'
    copied = 0
    for order in ("ASC", "DESC"):
        whole = False
        with contextlib.suppress(sqlite3.DatabaseError):
            rows = source.execute(f'SELECT {names} FROM "{table}" NOT INDEXED ORDER BY rowid {order}')
            while row := rows.fetchone():
                copied += max(0, made.execute(put, row).rowcount)
            whole = True
        if whole:
            break
    return copied
