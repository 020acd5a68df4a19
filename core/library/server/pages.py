"""The pages of SQL that make a library on a server, its roles and its rights: files that can be read and run by psql.

In them ``:"name"`` stands for a name and ``:'name'`` for a text, as psql has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.location import ServerAddress
from semblance.core.library.rights import RIGHTS
from semblance.core.library.schema import VERSION
from semblance.core.library.server.connection import no_right_error
from semblance.core.library.server.tables import REVISION, library_roles

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
