"""Copy a library from one home to another, row by row and file by file, and prove that both hold the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.database import advance_numbers
from semblance.core.library.library import Library
from semblance.core.library.schema import JsonOf, tables
from semblance.core.tasks import SILENT, Reporter

_ROWS = 2_000
_IMAGES = 200
#: Tables and files by their names -> SHA-256.
Digests = dict[str, str]


@dataclass(frozen=True)
class CopiedLibrary:
    """What was copied: ``rows`` of tables, ``files``, and thumbnails; ``digests``: SHA-256 of each, the same in both
    homes."""

    rows: int
    files: int
    thumbnails: int
    digests: Digests


def copy_library(source: Library, target: Library, reporter: Reporter = SILENT) -> CopiedLibrary:
    """Copy everything but images, which stay where they are, and what is made again from the rest.

    It is one transaction of ``target``, which must be empty: complete, or not at all. Others may use ``source``
    meanwhile; what they add later is not copied.

    Raises:
        BadInput: ``target`` holds something already, or ``source`` is damaged.
        SemblanceError: what was written does not read back as it was.
        Cancelled: the reporter was cancelled; ``target`` is as it was.
    """
    before: Digests = {}
    with target.catalogue.snapshot() as connection:
        _check_empty(target, connection)
    # Outside of the transaction, and first: thumbnails alone are no library.
    images = _copy_thumbnails(source, target, reporter)
    with source.catalogue.snapshot() as reading, target.catalogue.transaction() as writing:
        _check_empty(target, writing)
        rows = copy_rows(reading, writing, tables.sorted_tables, before, reporter)
        files = source.files.names(reading)
        for done, name in enumerate(files):
            reporter.check_cancelled()
            reporter.progress(done, len(files), "Copying files")
            content = source.files.read(reading, name)
            before[name] = hashlib.sha256(content).hexdigest()
            target.files.write(writing, name, content)
        lines = source.exports(None)
        target.add_exports(writing, lines)
        before["exports"] = _digest_of(lines)
        reporter.progress(0, None, "Comparing both libraries")
        after = {table.name: _digest_of(_rows_of(writing, table)) for table in tables.sorted_tables}
        after |= {name: hashlib.sha256(target.files.read(writing, name)).hexdigest() for name in files}
        after["exports"] = before["exports"]
        different = [name for name, digest in before.items() if after.get(name) != digest]
        if different:
            raise SemblanceError(
                tr_lazy(
                    "{target} would not hold what {source} holds: {names}.",
                    target=target.location,
                    source=source.location,
                    names=", ".join(different[:3]),
                ),
                "Nothing was changed. Verify the library: semblance doctor LIB.",
            )
    return CopiedLibrary(rows, len(files), images, before)


def digests(library: Library, connection: sa.Connection) -> Digests:
    """The digests that :func:`copy_library` would find in ``library`` now, as ``connection`` sees it."""
    found = {table.name: _digest_of(_rows_of(connection, table)) for table in tables.sorted_tables}
    for name in library.files.names(connection):
        found[name] = hashlib.sha256(library.files.read(connection, name)).hexdigest()
    found["exports"] = _digest_of(library.exports(None))
    return found


def _check_empty(target: Library, connection: sa.Connection) -> None:
    for table in tables.sorted_tables:
        if table.name != "meta" and connection.execute(sa.select(table).limit(1)).first() is not None:
            raise BadInput(
                tr_lazy("{target} holds a library already.", target=target.location),
                "Choose another place. A copy never replaces a library.",
            )


def copy_rows(
    reading: sa.Connection,
    writing: sa.Connection,
    chosen: Sequence[sa.Table],
    found: Digests,
    reporter: Reporter = SILENT,
) -> int:
    """Copy the rows of the ``chosen`` tables, in place of those that ``writing`` has, and return their number;
    ``found`` gets their digests."""
    total = 0
    for table in reversed(chosen):
        writing.execute(table.delete())
    for table in chosen:
        digest = hashlib.sha256()
        insert, names = _plain(table).insert(), table.c.keys()
        batch: list[dict[str, Any]] = []
        for row in _rows_of(reading, table):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
            batch.append(dict(zip(names, row, strict=True)))
            if len(batch) == _ROWS:
                reporter.check_cancelled()
                reporter.progress(total, None, tr_lazy("Copying {table}", table=table.name))
                total += _insert(writing, insert, batch)
        total += _insert(writing, insert, batch)
        advance_numbers(writing, table)
        found[table.name] = digest.hexdigest()
    return total


def _insert(connection: sa.Connection, statement: Any, batch: list[dict[str, Any]]) -> int:
    if batch:
        connection.execute(statement, batch)
    done = len(batch)
    batch.clear()
    return done


def _plain(table: sa.Table) -> Any:
    """``table`` with texts in place of JSON, which stay as they were written."""
    return sa.table(table.name, *(sa.column(c.name, _plain_type(c)) for c in table.c))


def _plain_type(column: sa.Column[Any]) -> sa.types.TypeEngine[Any]:
    return sa.Text() if isinstance(column.type, (JsonOf, sa.JSON)) else column.type


def _rows_of(connection: sa.Connection, table: sa.Table) -> Iterator[tuple[Any, ...]]:
    """The rows in order of their keys, the same values in both homes."""
    plain = _plain(table)
    query = sa.select(*plain.c).order_by(*(plain.c[key.name] for key in table.primary_key))
    for row in connection.execute(query.execution_options(yield_per=_ROWS)):
        yield tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)


def _digest_of(values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _copy_thumbnails(source: Library, target: Library, reporter: Reporter) -> int:
    contents = source.thumbnails.contents()
    for start in range(0, len(contents), _IMAGES):
        reporter.check_cancelled()
        reporter.progress(start, len(contents), "Copying thumbnails")
        target.thumbnails.put(source.thumbnails.get(contents[start : start + _IMAGES]).items())
    target.thumbnails.put_outlines(source.thumbnails.outlines().items())
    return len(contents)
