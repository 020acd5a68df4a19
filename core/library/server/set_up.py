"""Make a library on a server: its tables, roles and rights, and refuse tables of another version.

The pages of SQL that do it are files that can be read and run by psql. In them ``:"name"`` stands for a name and
``:'name'`` for a text, as psql has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.location import ServerAddress
from semblance.core.library.records import RIGHTS
from semblance.core.library.schema import VERSION
from semblance.core.library.server.connection import no_right_error, not_a_library_error, server_errors
from semblance.core.library.server.tables import (
    BEFORE,
    REVISION,
    SCHEMA,
    alembic_version,
    library_roles,
    schema_of,
)

#: The owner of all tables and functions, the owner of the audit log, and those who name the tables of projects.
OWNER, AUDIT, PROJECT_READER, PROJECT_ANNOTATOR = "owner", "audit", "project_reader", "project_annotator"
ROLES = (OWNER, AUDIT, PROJECT_READER, PROJECT_ANNOTATOR, *RIGHTS)
#: PostgreSQL's longest name.
LONGEST = 63

_PLACEHOLDER = re.compile(r""":(["'])(\w+)\1""")
#: Who makes the library must not be a superuser, so that nothing in it can be made to run as one.
_MAKER = sa.text(
    "SELECT r.rolname AS name, r.rolsuper AS is_superuser, r.rolcreaterole AS may_make_roles, "
    "pg_has_role(session_user, d.datdba, 'USAGE') AS is_owner, d.datname AS database "
    "FROM pg_roles r, pg_database d WHERE r.rolname = session_user AND d.datname = current_database()"
)


def run_page(connection: sa.Connection, page: str, roles: Mapping[str, str]) -> None:
    """Run a page within the running transaction, with nothing in reach but what PostgreSQL has and the page names."""
    database = str(connection.execute(sa.select(sa.func.current_database())).scalar_one())
    values = {**roles, "database": database, "revision": REVISION, "schema": str(VERSION)}

    def filled(found: re.Match[str]) -> str:
        value = values[found[2]]
        return quoted_name(value) if found[1] == '"' else quoted_text(value)

    text = (Path(__file__).parent / "sql" / f"{page}.sql").read_text(encoding="utf-8")
    connection.exec_driver_sql("SET LOCAL search_path = pg_catalog, pg_temp")
    connection.exec_driver_sql(
        _PLACEHOLDER.sub(filled, text), execution_options={"no_parameters": True}
    ).close()


def check_maker(connection: sa.Connection, address: ServerAddress) -> None:
    """Check that the account may make a library in the database.

    Raises:
        AccessRefused: it is not the owner of the database, or may not make roles.
        SemblanceError: it is a superuser of the server.
    """
    maker = connection.execute(_MAKER).one()
    person, database = quoted_name(maker.name), quoted_name(maker.database)
    if maker.is_superuser:
        raise SemblanceError(
            tr_lazy(
                "{person} is a superuser of the server {host}, and must not make a library.",
                person=maker.name,
                host=address.host,
            ),
            tr_lazy(
                "Make an account for it: CREATE ROLE {name} LOGIN CREATEROLE PASSWORD '…'; ALTER DATABASE {database} "
                "OWNER TO {name}; and in the database CREATE EXTENSION vector.",
                name=f"{maker.database}_maker" if len(maker.database) < LONGEST - 6 else "maker",
                database=database,
            ),
        )
    if not (maker.may_make_roles and maker.is_owner):
        what = f"ALTER ROLE {person} CREATEROLE; ALTER DATABASE {database} OWNER TO {person}"
        raise no_right_error(address, tr_lazy("a superuser has to run {what} first", what=what))


def make_roles(connection: sa.Connection, address: ServerAddress) -> dict[str, str]:
    """Create all roles of the library, named for its database: name -> role.

    Raises:
        SemblanceError: the server has roles of these names that are not the library's.
    """
    database = str(connection.execute(sa.select(sa.func.current_database())).scalar_one())
    roles = {name: f"{database}_{name}" for name in ROLES}
    made = list(roles.values())
    if any(len(role.encode()) > LONGEST for role in made):
        raise SemblanceError(
            tr_lazy("The name of the database {name} is too long for the names of its roles.", name=database),
            "Rename the database.",
        )
    taken = sa.text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:names)")
    if found := list(connection.execute(taken, {"names": made}).scalars()):
        raise SemblanceError(
            tr_lazy(
                "The server {host} has roles of an earlier library of this name: {roles}.",
                host=address.host,
                roles=", ".join(sorted(found)),
            ),
            "Drop them with DROP ROLE, or give the database another name.",
        )
    for role in made:
        connection.exec_driver_sql(
            f"CREATE ROLE {quoted_name(role)} NOLOGIN", execution_options={"no_parameters": True}
        )
    return roles


def known_roles(connection: sa.Connection) -> dict[str, str]:
    """Name -> role, as the library has them."""
    return {r.name: r.role for r in connection.execute(sa.select(library_roles))}


def quoted_name(name: str) -> str:
    """``name`` as a name in SQL."""
    from psycopg import sql

    return sql.Identifier(name).as_string()


def quoted_text(value: str) -> str:
    """``value`` as a text in SQL."""
    from psycopg import sql

    return sql.Literal(value).as_string()


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
        for page in ("roles", "tables", "audit", "functions", "projects", "writers", "rights"):
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
    """Bring tables of the version before up to date, and refuse those of another; to the maker of a restored library
    give the rights to its database again.

    Raises:
        BadInput: the database has no library, or one of another version of the program.
        AccessRefused: the user may not read it.
        SemblanceError: another account has to bring the tables up to date.
    """
    with server_errors(address), engine.connect() as connection:
        revision = _revision(connection)
        if revision is None and connection.execute(_HAS_SCHEMA, {"schema": schema_of(address)}).scalar():
            # Without a right, the server finds no table by its name alone. Asked for the schema, it says so.
            connection.exec_driver_sql(f"SELECT 1 FROM {schema_of(address)}.{alembic_version.name}")
        owner = connection.execute(_OWNER).first()
    if revision is None:
        raise not_a_library_error(address)
    # Those of a project are those of its library.
    is_maker = writable and not address.project and owner is not None and owner.is_user
    if revision == BEFORE and is_maker:
        _update(engine, address)
    elif revision == BEFORE:
        raise SemblanceError(
            tr_lazy("The tables of {library} are of the version before this one.", library=address),
            "The account that made the library opens it once with this version, which updates them.",
        )
    elif revision != REVISION:
        raise _other_revision_error(address, revision)
    if is_maker and owner is not None and owner.is_restored:
        with server_errors(address), engine.connect() as connection, connection.begin():
            run_page(connection, "roles", known_roles(connection))


def _update(engine: sa.Engine, address: ServerAddress) -> None:
    """The step from the revision before, in one transaction, after other programs have finished."""
    with server_errors(address), engine.connect() as connection, connection.begin():
        roles = known_roles(connection)
        connection.exec_driver_sql(f"SET LOCAL ROLE {quoted_name(roles[OWNER])}")
        connection.exec_driver_sql(f"LOCK TABLE {SCHEMA}.{alembic_version.name} IN ACCESS EXCLUSIVE MODE")
        if _revision(connection) == BEFORE:
            for page in ("step_0007", "functions", "projects", "writers", "step_0007_rights"):
                run_page(connection, page, roles)


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
