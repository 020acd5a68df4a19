"""What can be read of a damaged catalogue, and a new one made of it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from core.library import schema
from core.library.database import BUSY_S, create_tables

#: What SQLite says when asked whether a file is whole.
WHOLE = "ok"
#: Lines of SQLite's complaints that are looked at.
FEW = 20


@contextlib.contextmanager
def _read_only(file: Path) -> Iterator[sqlite3.Connection]:
    uri = f"{file.absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S)) as connection:
        yield connection


def complaints(file: Path) -> list[str]:
    """What SQLite finds wrong with ``file``; empty where it is whole."""
    try:
        with _read_only(file) as connection:
            found = [r[0] for r in connection.execute(f"PRAGMA integrity_check({FEW})")]
    except sqlite3.DatabaseError as error:
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
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_S)) as connection, connection:
        return _remove_orphans(connection)


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
        source.execute("SELECT name FROM sqlite_master").fetchall()
        for table in schema.tables.sorted_tables:
            there = {r[1] for r in source.execute(f'PRAGMA table_info("{table.name}")')}
            columns = [column.name for column in table.columns if column.name in there]
            if columns:
                saved[table.name] = _copy(source, made, table.name, columns)
        _remove_orphans(made)
        return {name: made.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in saved}


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
