"""A check sum for every row of the catalogue: SQLite keeps none, and takes one letter for another."""

from __future__ import annotations

import functools
import sqlite3
import zlib
from collections.abc import Sequence

import sqlalchemy as sa

from core.library import schema

_FUNCTION = "sum_of_row"


def sum_of_row(*values: bytes | None) -> int:
    """CRC-32 of a row's values as SQLite stores them; ``None`` for NULL."""
    lengths = ",".join("-" if value is None else str(len(value)) for value in values)
    return zlib.crc32(b"".join(value or b"" for value in values), zlib.crc32(lengths.encode()))


def allow_sums(connection: sqlite3.Connection) -> None:
    """Let SQL of ``connection`` work out sums of rows."""
    connection.create_function(_FUNCTION, -1, sum_of_row, deterministic=True)


@functools.cache
def keeping_sums() -> tuple[str, ...]:
    """Statements after which every row that their connection writes gets its sum.

    They make triggers that belong to the connection, not to the catalogue: a library may come from anybody
    and must not run anything of its own, so it holds none.
    """
    statements = ["PRAGMA temp_store=MEMORY"]
    for table in schema.tables.sorted_tables:
        columns = ",".join(f'"{name}"' for name in _summed(table))
        for name, event in (("added", "INSERT"), ("changed", f"UPDATE OF {columns}")):
            statements.append(
                f'CREATE TEMP TRIGGER IF NOT EXISTS "{table.name}_{name}" AFTER {event} ON "{table.name}" '
                f'BEGIN UPDATE "{table.name}" SET row_sum = {_expression(table)} WHERE rowid = NEW.rowid; END'
            )
    return tuple(statements)


@functools.cache
def renewing_sums() -> tuple[str, ...]:
    """Statements that give every row the sum of what it holds now."""
    return tuple(
        f'UPDATE "{table.name}" SET row_sum = {_expression(table)}' for table in schema.tables.sorted_tables
    )


def accept_rows(connection: sqlite3.Connection, table: str, rows: Sequence[int]) -> None:
    """Give ``rows`` of ``table``, by their rowid, the sum of what they hold now."""
    expression = _expression(schema.tables.tables[table])
    connection.executemany(
        f'UPDATE "{table}" SET row_sum = {expression} WHERE rowid = ?', [(row,) for row in rows]
    )


def has_sums(connection: sqlite3.Connection) -> bool:
    """Whether the catalogue keeps sums; those from before version 6 do not."""
    query = "SELECT count(*) FROM pragma_table_info('meta') WHERE name = 'row_sum'"
    return bool(connection.execute(query).fetchone()[0])


def changed_rows(connection: sqlite3.Connection) -> dict[str, list[int]]:
    """Table -> rows, by their rowid, that are not as they were written; none in a catalogue without sums."""
    found: dict[str, list[int]] = {}
    for table in schema.tables.sorted_tables if has_sums(connection) else ():
        query = f'SELECT rowid FROM "{table.name}" WHERE row_sum IS NOT {_expression(table)} ORDER BY rowid'
        if rows := [int(r[0]) for r in connection.execute(query)]:
            found[table.name] = rows
    return found


def _summed(table: sa.Table) -> list[str]:
    return [column.name for column in table.columns if column.name != "row_sum"]


def _expression(table: sa.Table) -> str:
    """As bytes: a text that is none any more must have a sum too."""
    values = ",".join(f'CAST("{name}" AS BLOB)' for name in _summed(table))
    return f"{_FUNCTION}({values})"
