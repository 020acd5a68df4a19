"""Create the tables of a library on a server, and refuse those of another version."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.location import ServerAddress
from semblance.core.library.server.connection import not_a_library_error, server_errors
from semblance.core.library.server.pages import (
    check_maker,
    known_roles,
    make_roles,
    run_page,
)
from semblance.core.library.server.tables import REVISION, SCHEMA, alembic_version, schema_of

#: Whether the user made the library, and whether the rights to the database are missing, which neither a dump nor a
#: copy of it has.
_OWNER = sa.text(
    "SELECT pg_has_role(session_user, nspowner, 'MEMBER') AS is_user, "
    "NOT has_database_privilege(nspowner, current_database(), 'CREATE') AS is_restored "
    f"FROM pg_namespace WHERE nspname = '{SCHEMA}'"
)
_HAS_SCHEMA = sa.text("SELECT to_regnamespace(:schema) IS NOT NULL")
#: Of a role or schema that another program makes at the same moment.
_MADE_MEANWHILE = ("23505", "42710", "42P06")


def create_tables(engine: sa.Engine, address: ServerAddress) -> None:
    """Make a new library in the database, unless there is one: all of it, or nothing.

    Raises:
        AccessRefused: the user does not own the database, or may not make roles.
        SemblanceError: the user is a superuser, or the server has no pgvector.
    """
    with server_errors(address):
        try:
            _create(engine, address)
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _MADE_MEANWHILE:
                raise
            # By then the other has finished.
            _create(engine, address)


def _create(engine: sa.Engine, address: ServerAddress) -> None:
    with engine.connect() as connection, connection.begin():
        if _revision(connection) is not None:
            return
        _require_vectors(connection, address)
        check_maker(connection, address)
        roles = make_roles(connection, address)
        for page in ("roles", "tables", "audit", "functions", "projects", "rights"):
            run_page(connection, page, roles)


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
    """Refuse the tables of another version; to the maker of a restored library give the rights to its database again.

    Raises:
        BadInput: the database has no library, or one of another version of the program.
        AccessRefused: the user may not read it.
    """
    with server_errors(address), engine.connect() as connection:
        revision = _revision(connection)
        if revision is None and connection.execute(_HAS_SCHEMA, {"schema": schema_of(address)}).scalar():
            # Without a right, the server finds no table by its name alone. Asked for the schema, it says so.
            connection.exec_driver_sql(f"SELECT 1 FROM {schema_of(address)}.{alembic_version.name}")
        owner = connection.execute(_OWNER).first()
    if revision is None:
        raise not_a_library_error(address)
    if revision != REVISION:
        raise _other_revision_error(address, revision)
    # Those of a project are those of its library.
    if writable and not address.project and owner is not None and owner.is_user and owner.is_restored:
        with server_errors(address), engine.connect() as connection, connection.begin():
            run_page(connection, "roles", known_roles(connection))


def _other_revision_error(address: ServerAddress, revision: str) -> BadInput:
    if revision > REVISION:
        return BadInput(
            tr_lazy(
                "{library} was made by a newer version of Semblance (tables {version}; this version reads up to"
                " {version2}).",
                library=address,
                version=revision,
                version2=REVISION,
            ),
            "Update Semblance to open it.",
        )
    return BadInput(
        tr_lazy(
            "{library} was made by a version of Semblance that is too old (tables {version}; this version reads"
            " {version2}).",
            library=address,
            version=revision,
            version2=REVISION,
        ),
        "The account that made it opens it once with the version before this one, which updates it. Or import its "
        "images again.",
    )


def _revision(connection: sa.Connection) -> str | None:
    there = sa.select(sa.func.to_regclass(alembic_version.name))
    if connection.execute(there).scalar() is None:
        return None
    found: str | None = connection.execute(sa.select(alembic_version.c.version_num)).scalar()
    return found
