"""Mend a catalogue: rows that cannot be read or were changed, or a new catalogue of all that can be read."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from core.library import schema
from core.library.damage import columns_of, kept_columns, quoted, read_only, readable, shown
from core.library.database import BUSY_S, create_tables
from core.library.row_sums import accept_rows, allow_sums, has_sums, keeping_sums, sum_of_row

_IMPORTED_AGAIN = ("files", "cases", "slices")
#: What is extracted again, or would teach something false: better none than one that was changed.
_NOT_KEPT = (*_IMPORTED_AGAIN, "feature_chunks", "feature_failures", "judgements", "concept_marks")
#: Of the file: its header, and the pages SQLite makes unless told otherwise.
_HEADER_BYTES, _PAGE_BYTES = 100, 4096


@contextlib.contextmanager
def _for_writing(file: Path) -> Iterator[sqlite3.Connection]:
    """One transaction, in which rows get their sums where the catalogue has them."""
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        allow_sums(connection)
        if has_sums(connection):
            for statement in keeping_sums():
                connection.execute(statement)
        yield connection


def remove_orphans(file: Path) -> int:
    """Take out rows that point to something that is not there; how many they were."""
    with _for_writing(file) as connection:
        return _remove_orphans(connection)


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


def restore_version(file: Path, rows: Sequence[int]) -> list[int]:
    """Make the catalogue's version what it was, where it is one of ``rows`` of ``meta``; the others of them.

    The row's sum tells which version it was; where the row says this one, its sum was what changed.
    """
    left = []
    with _for_writing(file) as connection:
        connection.text_factory = bytes
        for row in rows:
            query = "SELECT key, value, row_sum FROM meta WHERE rowid = ?"
            key, value, was = connection.execute(query, (row,)).fetchone()
            versions = [str(number).encode() for number in range(1, schema.VERSION + 1)]
            found = [version for version in versions if sum_of_row(b"schema", version) == was]
            if not found and (key, value) == (b"schema", str(schema.VERSION).encode()):
                found = [value]
            if not found:
                left.append(row)
                continue
            others = connection.execute("SELECT 1 FROM meta WHERE key = 'schema' AND rowid != ?", (row,))
            if others.fetchone():
                # A salvaged catalogue has one of its own.
                connection.execute("DELETE FROM meta WHERE rowid = ?", (row,))
                continue
            put = "UPDATE meta SET key = 'schema', value = ? WHERE rowid = ?"
            connection.execute(put, (found[0].decode(), row))
    return left


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
    return shown(value).encode("utf-8")


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


def salvage(file: Path, target: Path) -> dict[str, int]:
    """Make a catalogue ``target`` of all rows of ``file`` that can be read; rows saved by table.

    Rows are read from both ends of each table, up to what is damaged. What points to a lost row goes too.
    Where nothing can be read, it is tried once more with the file's header as it must have been.

    Raises:
        sqlite3.DatabaseError: not even its list of tables can be read.
    """
    saved: dict[str, int] = {}
    with contextlib.suppress(sqlite3.DatabaseError):
        saved = _salvage(file, target)
    if saved.get("cases"):
        return saved
    target.unlink(missing_ok=True)
    headed = target.with_name(f"{target.name}.headed")
    log, its_log = (one.with_name(one.name + "-wal") for one in (file, headed))
    try:
        headed.write_bytes(_with_header(file.read_bytes()))
        if log.exists():
            its_log.write_bytes(log.read_bytes())
        return _salvage(headed, target)
    finally:
        for end in ("", "-wal", "-shm"):
            headed.with_name(headed.name + end).unlink(missing_ok=True)


def _with_header(data: bytes) -> bytes:
    """A catalogue with the header that SQLite gives ours (https://sqlite.org/fileformat.html 1.3); its count
    of changes is kept, and no page is taken for free."""
    head = bytearray(data[:_HEADER_BYTES])
    head[:24] = b"SQLite format 3\0" + _PAGE_BYTES.to_bytes(2, "big") + bytes((2, 2, 0, 64, 32, 32))
    head[28:32] = (len(data) // _PAGE_BYTES).to_bytes(4, "big")
    head[32:40] = bytes(8)
    head[44:48] = (4).to_bytes(4, "big")
    head[48:72] = bytes(8) + (1).to_bytes(4, "big") + bytes(12)
    head[72:92] = bytes(20)
    head[92:96] = head[24:28]
    return bytes(head) + data[_HEADER_BYTES:]


def _salvage(file: Path, target: Path) -> dict[str, int]:
    create_tables(target)
    saved: dict[str, int] = {}
    with (
        read_only(file) as source,
        contextlib.closing(sqlite3.connect(target, timeout=BUSY_S)) as made,
        made,
    ):
        allow_sums(made)
        # A file that was cut short is read as far as it goes.
        source.execute("PRAGMA writable_schema=ON")
        source.text_factory = shown
        names = [
            r[0] for r in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        ]
        there = {name: columns_of(source, name) for name in names}
        for table in schema.tables.sorted_tables:
            name = table.name if table.name in there else _renamed(table, there)
            columns = _matched([column.name for column in table.columns], there.get(name, []))
            if columns:
                saved[table.name] = _copy(source, made, name, table.name, columns)
        _remove_orphans(made)
        # What an older program wrote had no sums. Rows that had keep theirs, which tell what was changed.
        for name in saved:
            found = made.execute(f'SELECT rowid FROM "{name}" WHERE row_sum IS NULL').fetchall()
            accept_rows(made, name, [row for (row,) in found])
        return {name: made.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in saved}


def _renamed(table: sa.Table, there: Mapping[str, Sequence[str]]) -> str:
    """What a table is called by now that has all columns of ``table``; empty where there is none."""
    wanted = {column.name for column in table.columns}
    strange = [name for name in there if name not in schema.tables.tables]
    return next((name for name in strange if set(there[name]) == wanted), "")


def _matched(wanted: Sequence[str], there: Sequence[str]) -> dict[str, str]:
    """Columns by what a damaged catalogue calls them; a single one of another name is the missing one."""
    found = {name: name for name in wanted if name in there}
    missing, strange = ([one for one in side if one not in found] for side in (wanted, there))
    if len(missing) == len(strange) == 1:
        found[strange[0]] = missing[0]
    return found


def _copy(
    source: sqlite3.Connection, made: sqlite3.Connection, name: str, table: str, columns: Mapping[str, str]
) -> int:
    """Rows of the table ``name`` into ``table``; ``columns``: what they are called there -> here."""
    read, written = (",".join(map(quoted, side)) for side in (columns.keys(), columns.values()))
    put = f'INSERT OR IGNORE INTO "{table}" ({written}) VALUES ({",".join("?" * len(columns))})'
    copied = 0
    for order in ("ASC", "DESC"):
        whole = False
        with contextlib.suppress(sqlite3.DatabaseError):
            rows = source.execute(f"SELECT {read} FROM {quoted(name)} NOT INDEXED ORDER BY rowid {order}")
            while row := rows.fetchone():
                copied += max(0, made.execute(put, row).rowcount)
            whole = True
        if whole:
            break
    return copied
