"""Open the catalogue's SQLite file safely: versions, one writer, errors in the user's words."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.files import create_private
from semblance.core.language import tr_lazy
from semblance.core.library import schema
from semblance.core.library.records import CATALOGUE

#: Writers wait this many seconds for each other before they fail.
BUSY_S = 30
_PART = 10_000


def connect(file: Path, *, writable: bool) -> sa.Engine:
    """An engine on ``file``. Read-only ones also work in a folder that cannot be written to.

    A library in such a folder is opened as immutable: SQLite's write-ahead log would need to make files.
    """

    def open_connection() -> sqlite3.Connection:
        if writable:
            # SQLite says why it cannot be created.
            with contextlib.suppress(OSError):
                create_private(file)
            return sqlite3.connect(file, timeout=BUSY_S, check_same_thread=False)
        log = file.with_name(file.name + "-wal")
        immutable = "" if log.exists() and log.stat().st_size else "&immutable=1"
        uri = f"{file.absolute().as_uri()}?mode=ro{immutable}"
        return sqlite3.connect(uri, uri=True, timeout=BUSY_S, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=open_connection, poolclass=sa.QueuePool)

    @sa.event.listens_for(engine, "connect")
    def _settings(connection: sqlite3.Connection, _record: object) -> None:
        if writable:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            # The indexes of a million rows are changed in any order: 64 MiB of their pages stay in memory.
            connection.execute("PRAGMA cache_size=-65536")
        connection.execute("PRAGMA foreign_keys=ON")
        # Python's own transaction control would commit before DDL: ours begin and end explicitly.
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


@contextlib.contextmanager
def transaction(engine: sa.Engine, file: Path) -> Iterator[sa.Connection]:
    """A write transaction: all of it is stored, or nothing; waits for another writer."""
    with (
        plain_errors(file),
        engine.connect().execution_options(writing=True) as connection,
        connection.begin(),
    ):
        yield connection


@contextlib.contextmanager
def plain_errors(file: Path) -> Iterator[None]:
    """Turn errors of SQLite or the disk into errors that name the library of ``file``."""
    library = file.parent
    try:
        yield
    except OperationalError as error:
        raise plain_error(library, str(error.orig)) from error
    except IntegrityError as error:
        raise SemblanceError(
            tr_lazy("Another program changed {library} at the same time.", library=library.name), "Try again."
        ) from error
    except DatabaseError as error:
        raise _damage_error(file, str(error.orig)) from error
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damage_error(file, tr_lazy("a text in it cannot be read")) from error
    except OSError as error:
        raise plain_error(library, error.strerror or str(error)) from error


def not_writable_error(library: Path) -> SemblanceError:
    """The error for a change of a library that can only be read."""
    if disk_is_full(library):
        return SemblanceError(
            tr_lazy("The disk holding {library} is full.", library=library),
            "Free some space and open the library again. Finished work is saved.",
        )
    return SemblanceError(
        tr_lazy("The library {library} cannot be written to.", library=library),
        "Copy it to a folder you may write to, or change its permissions.",
    )


def _damage_error(file: Path, what: str) -> BadInput:
    return BadInput(
        tr_lazy("The catalogue {file} is damaged: {what}.", file=file, what=what),
        "Recover the readable part (semblance doctor LIB --repair, or File > Verify "
        "library…), or restore a backup.",
    )


#: With less free space SQLite cannot open a catalogue for writing, because it makes files beside it.
LEAST_FREE = 128 << 10


def disk_is_full(place: Path) -> bool:
    """Whether the disk holding ``place`` is full, as far as the system reports it."""
    existing = next((path for path in (place, *place.parents) if path.exists()), place)
    try:
        return shutil.disk_usage(existing).free < LEAST_FREE
    except OSError:
        return False


def plain_error(library: Path, what: str) -> SemblanceError:
    """The error for a message of SQLite or of the system about the disk or the file."""
    low = what.lower()
    if "full" in low or "no space" in low or ("disk i/o" in low and disk_is_full(library)):
        return SemblanceError(
            tr_lazy("The disk holding {library} is full.", library=library),
            "Free some space and start again. Finished work is saved.",
        )
    if "readonly" in low or "read-only" in low or "permission" in low:
        return not_writable_error(library)
    if "unable to open" in low:
        return SemblanceError(
            tr_lazy("The catalogue of {library} cannot be opened.", library=library),
            "Check its permissions. If the disk is write-protected, copy the library to another disk.",
        )
    if "could not decode" in low or "json cannot hold blob" in low:
        return _damage_error(library / CATALOGUE, tr_lazy("a text in it cannot be read"))
    if "locked" in low:
        return SemblanceError(
            tr_lazy("The library {library} is busy in another program.", library=library.name),
            "Close the other one, or wait, then try again.",
        )
    return SemblanceError(
        tr_lazy("The library {library} could not be used: {what}.", library=library, what=what),
        "Check the disk, then try again.",
    )


@functools.cache
def _table_statements(chosen: tuple[sa.Table, ...] | None = None) -> tuple[str, ...]:
    """What makes the ``chosen`` tables or all, and their indexes, compiled once: ``create_all`` would look for each of
    them first."""
    statements: list[str] = []

    def collect(statement: Any, *_: Any, **__: Any) -> None:
        statements.append(str(statement.compile(dialect=engine.dialect)))

    engine = sa.create_mock_engine("sqlite://", collect)
    schema.tables.create_all(engine, chosen, checkfirst=False)
    return tuple(statements)


def create_tables(file: Path) -> None:
    """Make a new catalogue in ``file``."""
    engine = connect(file, writable=True)
    try:
        with transaction(engine, file) as connection:
            for statement in (*_table_statements(), *schema.TEXT_INDEX):
                connection.exec_driver_sql(statement)
            connection.execute(schema.meta.insert().values(key="schema", value=str(schema.VERSION)))
    finally:
        engine.dispose()


def check_version(engine: sa.Engine, file: Path, *, writable: bool) -> bool:
    """Bring a catalogue of the version before up to date, and refuse one of another version and an incomplete one.

    One that is not ``writable`` is read as if the tables that it lacks were empty. Returns whether it is of this
    version.

    Raises:
        BadInput: no version in it, or one that this program does not read.
    """
    with plain_errors(file):
        try:
            with engine.connect() as connection:
                version = _version(connection, file)
        except OperationalError as error:
            if "no such table" not in str(error.orig):
                raise
            version = None
        if version is None:
            raise BadInput(
                tr_lazy("{parent} is not a complete library: its catalogue is empty.", parent=file.parent),
                "It may be incomplete. Restore a backup, or make a new library from the images.",
            )
        if version not in (schema.VERSION, schema.VERSION - 1):
            raise other_version_error(file.parent, version)
        if version == schema.VERSION - 1:
            if writable:
                update(engine, file)
            else:
                _add_empty_tables(engine)
        return writable or version == schema.VERSION


#: A row where the catalogue is of this version.
HAS_CASE_TEXTS = f"SELECT 1 FROM main.sqlite_master WHERE name = '{schema.CASE_TEXTS}'"


def update(engine: sa.Engine, file: Path) -> None:
    """The step from the version before, in one transaction, after other writers have finished."""
    with transaction(engine, file) as connection:
        if _version(connection, file) != schema.VERSION - 1:
            return
        # Also those that no library has, which would run when it is written to.
        named = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
        for kind, name in connection.exec_driver_sql(named).all():
            connection.exec_driver_sql("DROP {} {}".format(kind, '"' + name.replace('"', '""') + '"'))
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {schema.HEADER_TEXTS}")
        for statement in (*_table_statements(schema.NEW_TABLES), *schema.TEXT_INDEX, schema.FILL_CASE_TEXTS):
            connection.exec_driver_sql(statement)
        connection.execute(
            schema.meta.update().where(schema.meta.c.key == "schema").values(value=str(schema.VERSION))
        )


def _add_empty_tables(engine: sa.Engine) -> None:
    """Give each connection the tables that the catalogue lacks, empty and in memory, until another program brings it up
    to date."""
    made = [
        statement.replace("CREATE TABLE ", "CREATE TEMPORARY TABLE ", 1)
        for statement in map(str.strip, _table_statements(schema.NEW_TABLES))
        if statement.startswith("CREATE TABLE ")
    ]
    # Those that are open have no such tables.
    engine.dispose()

    @sa.event.listens_for(engine, "connect")
    def _make(connection: sqlite3.Connection, _record: object) -> None:
        if connection.execute(HAS_CASE_TEXTS).fetchone():
            return
        connection.execute("PRAGMA temp_store=MEMORY")
        for statement in made:
            connection.execute(statement)


def other_version_error(file: Path, version: int) -> BadInput:
    """The error for the catalogue of another ``version`` in ``file``: a library or a backup."""
    if version > schema.VERSION:
        return BadInput(
            tr_lazy(
                "{parent} was made by a newer version of Semblance (catalogue {version}; this version"
                " reads up to {version2}).",
                parent=file.name,
                version=version,
                version2=schema.VERSION,
            ),
            "Update Semblance to open it.",
        )
    return BadInput(
        tr_lazy(
            "{file} was made by a version of Semblance that is too old (catalogue {version}; this version reads"
            " {version2}).",
            file=file,
            version=version,
            version2=schema.VERSION,
        ),
        "Open it once with the version before this one, which updates it, or import its images again.",
    )


def _version(connection: sa.Connection, file: Path) -> int | None:
    found = connection.execute(sa.select(schema.meta.c.value).where(schema.meta.c.key == "schema")).scalar()
    if found is not None and not str(found).isdecimal():
        raise _damage_error(file, tr_lazy("its version is '{found}'", found=found))
    return None if found is None else int(found)


def upsert(connection: sa.Connection, table: sa.Table, keys: Sequence[str]) -> Any:
    """An insert into ``table`` that replaces the values of a row with the same ``keys``, which are unique."""
    if connection.dialect.name == schema.POSTGRESQL:
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
    statement = insert(table)
    changed = {c.name: statement.excluded[c.name] for c in table.c if c.name not in (*keys, "id")}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=changed)


def advance_numbers(connection: sa.Connection, table: sa.Table) -> None:
    """After rows were inserted with their numbers, have the next row get a higher one, as in SQLite it always does."""
    if connection.dialect.name == schema.POSTGRESQL and isinstance(table.c[0].type, sa.Integer):
        number = table.c[0]
        sequence = sa.func.pg_get_serial_sequence(f'"{table.name}"', number.name)
        if len(table.primary_key) == 1 and not number.foreign_keys:
            highest = sa.select(sa.func.max(number)).scalar_subquery()
            connection.execute(sa.select(sa.func.setval(sequence, sa.func.coalesce(highest, 1))))


def in_batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """``values`` in batches that fit into a statement: SQLite allows 32,766 values in one."""
    return (values[start : start + _PART] for start in range(0, len(values), _PART))
