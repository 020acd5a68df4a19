"""A check sum for every row of the catalogue: SQLite keeps none, and takes one letter for another."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence

#: The columns of a row that its sum is of, by table.
Summed = Mapping[str, Sequence[str]]

#: Gives the table and name of every column, for :func:`summed_columns`.
COLUMNS = (
    "SELECT of.name, its.name FROM sqlite_master AS of JOIN pragma_table_info(of.name) AS its "
    "WHERE of.type = 'table'"
)
_FUNCTION, _COLUMN = "sum_of_row", "row_sum"


def sum_of_row(kinds: str, *values: bytes | None) -> int:
    """CRC-32 of a row: the ``kinds`` of its values by SQLite's names, and their bytes, ``None`` for NULL."""
    lengths = ",".join("-" if value is None else str(len(value)) for value in values)
    return zlib.crc32(b"".join(value or b"" for value in values), zlib.crc32(f"{kinds};{lengths};".encode()))


def allow_sums(connection: sqlite3.Connection) -> None:
    """Let SQL of ``connection`` work out sums of rows."""
    connection.create_function(_FUNCTION, -1, sum_of_row, deterministic=True)


def summed_columns(columns: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Of the answer to :data:`COLUMNS`: those that are summed, of the tables that have sums.

    They are those the catalogue has, not those of this version: a newer program can tell what changed in an
    older catalogue before it brings it up to date.
    """
    found: dict[str, list[str]] = {}
    for table, column in columns:
        found.setdefault(table, []).append(column)
    return {
        table: sorted(name for name in names if name != _COLUMN)
        for table, names in found.items()
        if _COLUMN in names
    }


def sums_of(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """:func:`summed_columns` of a catalogue; nothing in one from before version 6."""
    return summed_columns((text_of(table), text_of(column)) for table, column in connection.execute(COLUMNS))


def keep_sums(connection: sqlite3.Connection) -> None:
    """From now on every row that ``connection`` writes gets its sum, where the catalogue has them."""
    allow_sums(connection)
    for statement in keeping_sums(sums_of(connection)):
        connection.execute(statement)


def keeping_sums(summed: Summed) -> list[str]:
    """Statements after which every row that their connection writes gets its sum.

    They make triggers that belong to the connection, not to the catalogue: a library may come from anybody
    and must not need to run anything of its own.
    """
    # A full disk must not keep them from being made.
    statements = ["PRAGMA temp_store=MEMORY"]
    for table, columns in summed.items():
        for name, event in (("added", "INSERT"), ("changed", f"UPDATE OF {','.join(map(quoted, columns))}")):
            statements.append(
                f"CREATE TEMP TRIGGER IF NOT EXISTS {quoted(f'{table}_{name}')} AFTER {event} "
                f"ON {quoted(table)} BEGIN {renewal(table, columns)} WHERE rowid = NEW.rowid; END"
            )
    return statements


def renewing_sums(summed: Summed) -> list[str]:
    """Statements that give every row the sum of what it holds now."""
    return [renewal(table, columns) for table, columns in summed.items()]


def renewal(table: str, columns: Sequence[str]) -> str:
    """The statement that gives the rows of ``table`` the sum of what they hold now."""
    return f"UPDATE {quoted(table)} SET {_COLUMN} = {_expression(columns)}"


def changed_rows(connection: sqlite3.Connection) -> dict[str, list[int]]:
    """Table -> rows, by their rowid, that are not as they were written; none in a catalogue without sums."""
    found: dict[str, list[int]] = {}
    for table, columns in sums_of(connection).items():
        query = f"SELECT rowid FROM {quoted(table)} WHERE {differs(columns)} ORDER BY rowid"
        if rows := [int(r[0]) for r in connection.execute(query)]:
            found[table] = rows
    return found


def differs(columns: Sequence[str]) -> str:
    """A condition: the row's sum is not that of what it holds."""
    return f"{_COLUMN} IS NOT {_expression(columns)}"


def _expression(columns: Sequence[str]) -> str:
    """SQL for the sum of a row; of its bytes, for a text that is none any more must have a sum too."""
    kinds = "||','||".join(f"typeof({quoted(name)})" for name in columns)
    return f"{_FUNCTION}({kinds},{','.join(f'CAST({quoted(name)} AS BLOB)' for name in columns)})"


def quoted(name: str) -> str:
    """A name in SQL, whatever signs a damaged catalogue has in it."""
    return '"' + name.replace('"', '""') + '"'


def text_of(told: str | bytes) -> str:
    """A text out of a damaged catalogue, with a sign in place of what is no letter."""
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else told
