"""Create the tables of a library on a server, and bring older ones up to date, with Alembic."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.address import ServerAddress
from semblance.core.library.schema import VERSION, meta
from semblance.core.library.server.connection import (
    not_a_library_error,
    server_errors,
    transaction,
)
from semblance.core.library.server.people import apply_rights
from semblance.core.library.server.project_functions import prepare_projects
from semblance.core.library.server.tables import (
    EARLIER,
    REVISION,
    SCHEMA,
    alembic_version,
    library_state,
    schema_of,
)

#: Whether the user may change the tables: only administrators of the library may create some.
_MAY_CREATE = sa.text(f"SELECT has_schema_privilege('{SCHEMA}', 'CREATE')")

_HAS_SCHEMA = sa.text("SELECT to_regnamespace(:schema) IS NOT NULL")


def create_tables(engine: sa.Engine, address: ServerAddress) -> None:
    """Make a new library in the database, unless there is one: all of it, or nothing.

    Raises:
        SemblanceError: the server has no pgvector, or the user may not create tables.
    """
    with transaction(engine, address) as connection:
        if _revision(connection) is not None:
            return
        _require_vectors(connection, address)
        connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        _upgrade(connection)
        connection.execute(meta.insert().values(key="schema", value=str(VERSION)))
        connection.execute(library_state.insert())
        prepare_projects(connection)


def _require_vectors(connection: sa.Connection, address: ServerAddress) -> None:
    found = sa.text("SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'")
    available = connection.execute(found).all()
    if not available:
        raise SemblanceError(
            tr_lazy("The server {host} has no pgvector.", host=address.host),
            "An administrator installs the extension on the server and runs CREATE EXTENSION vector in the database.",
        )
    if available[0].installed_version is None:
        connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public"))


def check_revision(engine: sa.Engine, address: ServerAddress, *, writable: bool) -> None:
    """Migrate older tables; refuse those of a newer version.

    Raises:
        BadInput: the database has no library, or one of a newer version of the program.
        AccessRefused: the user may not read it.
        SemblanceError: it has to be migrated but cannot be written.
    """
    with server_errors(address), engine.connect() as connection:
        revision = _revision(connection)
        if revision is None and connection.execute(_HAS_SCHEMA, {"schema": schema_of(address)}).scalar():
            # Without a right, the server finds no table by its name alone. Asked for the schema, it says so.
            connection.exec_driver_sql(f"SELECT 1 FROM {schema_of(address)}.{alembic_version.name}")
        # Those of a project are updated with those of its library.
        may_update = revision in EARLIER and not address.project and connection.execute(_MAY_CREATE).scalar()
    if revision is None:
        raise not_a_library_error(address)
    if revision == REVISION:
        return
    if revision not in EARLIER:
        raise BadInput(
            tr_lazy(
                "{library} was made by a newer version of Semblance (tables {version}; this version reads up to"
                " {version2}).",
                library=address,
                version=revision,
                version2=REVISION,
            ),
            "Update Semblance to open it.",
        )
    if not writable or not may_update:
        raise SemblanceError(
            tr_lazy("The tables of {library} are of an older version of Semblance.", library=address),
            "An administrator of the library opens it once with this version, which updates them.",
        )
    with transaction(engine, address) as connection:
        if _revision(connection) != REVISION:
            _upgrade(connection)
            apply_rights(connection)


def _revision(connection: sa.Connection) -> str | None:
    there = sa.select(sa.func.to_regclass(alembic_version.name))
    if connection.execute(there).scalar() is None:
        return None
    found: str | None = connection.execute(sa.select(alembic_version.c.version_num)).scalar()
    return found


def _upgrade(connection: sa.Connection) -> None:
    """Run the missing migrations within the running transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
