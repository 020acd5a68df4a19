"""Who may do what in a library on a server: roles of PostgreSQL, which the server enforces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.address import ServerAddress
from semblance.core.library.rights import ADMINISTRATOR, READER, RIGHTS
from semblance.core.library.server.tables import SCHEMA, library_roles, projects

#: PostgreSQL's longest name.
_LONGEST = 63
#: The tables that the server alone writes. They stay with who made the library, so that administrators cannot change
#: the log either.
_AUDIT = ("audit_log", "audit_head", "audit_pending")
_AUTHORED = ("judgements", "concepts", "concept_marks")
#: Functions that write for people with fewer rights, and those that only the server calls.
_OF_AUDIT = (
    "append_audit", "audit_event", "count_change", "log_change", "log_project", "refuse_change", "has_right",
)  # fmt: skip
#: What links the pseudonyms of projects. Only curators read them. Like the roles, they are read by functions that run
#: with the rights of who made the library, with whom they stay.
_PROJECTS = ("projects", "project_members", "project_cases")
_OF_OWNER = (*_PROJECTS, "library_roles")


@dataclass(frozen=True)
class Person:
    """A role that may log in, and its ``right`` in the library."""

    name: str
    right: str


def people_of(connection: sa.Connection) -> list[Person]:
    """Those who have a right in the library, by name; of several rights the highest."""
    highest: dict[str, str] = {}
    roles = _roles(connection).values()
    for one, _ in _all_rights(connection):
        if one.name not in roles:
            highest[one.name] = max(highest.get(one.name, one.right), one.right, key=RIGHTS.index)
    return [Person(name, highest[name]) for name in sorted(highest)]


def right_of_user(connection: sa.Connection) -> str:
    """The right of the account that is connected; the highest as long as nobody was given one."""
    have = sa.select(*(sa.func.has_right(right) for right in RIGHTS))
    held = connection.execute(have).one()
    return max(
        (right for right, has in zip(RIGHTS, held, strict=True) if has), key=RIGHTS.index, default=READER
    )


def set_right(
    connection: sa.Connection,
    address: ServerAddress,
    person: str,
    right: str | None,
    password: str | None = None,
) -> None:
    """Give ``person`` the ``right``, in place of the one they had, or none. ``password``: create the account.

    Raises:
        BadArguments: no such right or person, or a person who exists already.
        SemblanceError: the user may not.
    """
    if right is not None and right not in RIGHTS:
        raise BadArguments(
            tr_lazy("There is no right '{right}'.", right=right),
            tr_lazy("There are: {rights}.", rights=", ".join(RIGHTS)),
        )
    roles = _roles(connection) or _create_roles(connection, address)
    known = connection.execute(
        sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": person}
    ).first()
    if person in roles.values() or not person or len(person.encode()) > _LONGEST:
        raise BadArguments(tr_lazy("'{person}' is not the name of a person.", person=person))
    if known is None and password is None:
        raise BadArguments(
            tr_lazy("The server {host} has no account '{person}'.", host=address.host, person=person),
            "Add --create to create it. The password is asked for.",
        )
    if known is not None and password is not None:
        raise BadArguments(
            tr_lazy("The server {host} has an account '{person}' already.", host=address.host, person=person),
            "Leave out --create.",
        )
    if password is not None:
        # Hashed here, so that the password reaches neither the server nor its log.
        raw: Any = connection.connection.dbapi_connection
        hashed = raw.pgconn.encrypt_password(password.encode(), person.encode(), b"scram-sha-256").decode()
        _run(connection, f"CREATE ROLE {_name(person)} LOGIN PASSWORD {_literal(hashed)}")
    have = [(one.right, giver) for one, giver in _all_rights(connection) if one.name == person]
    for other, giver in have:
        if other != right:
            # Without the giver, the server would do nothing where somebody else gave the right.
            _run(connection, f"REVOKE {_name(roles[other])} FROM {_name(person)} GRANTED BY {_name(giver)}")
    if right is not None and right not in [other for other, _ in have]:
        _run(connection, f"GRANT {_name(roles[right])} TO {_name(person)}")


def apply_rights(connection: sa.Connection) -> None:
    """Give the roles of the library their rights to all its tables, after it was made or updated."""
    roles = _roles(connection)
    if not roles:
        return
    reader, annotator, curator, administrator = (_name(roles[right]) for right in RIGHTS)
    made = sa.text("SELECT tablename FROM pg_tables WHERE schemaname = :schema ORDER BY tablename")
    found = connection.execute(made, {"schema": SCHEMA}).scalars()
    tables = [name for name in found if name not in _AUDIT]
    linking = [name for name in tables if name in _PROJECTS]
    everything = ", ".join(_name(name) for name in tables if name not in linking)
    own = ", ".join(map(_name, (*_AUTHORED, "searches", "thumbnails", "outlines")))
    changed = [name for name in tables if name not in ("alembic_version", "library_roles")]
    for statement in (
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {reader}",
        f"GRANT USAGE, CREATE ON SCHEMA {SCHEMA} TO {administrator}",
        f"GRANT SELECT ON {everything} TO {reader}",
        f"GRANT INSERT, UPDATE, DELETE ON {own} TO {annotator}",
        f"GRANT INSERT ON reader_answers TO {annotator}",
        f"GRANT UPDATE (number) ON library_state TO {annotator}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {annotator}",
        f"GRANT INSERT, UPDATE, DELETE ON {', '.join(map(_name, changed))} TO {curator}",
        f"GRANT UPDATE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {curator}",
        f"GRANT SELECT ON {', '.join((*_AUDIT, *linking))} TO {curator}",
        *(f"ALTER TABLE {_name(name)} OWNER TO {administrator}" for name in tables if name not in _OF_OWNER),
        *(f"ALTER TABLE {_name(name)} ENABLE ROW LEVEL SECURITY" for name in _AUTHORED),
    ):
        _run(connection, statement)
    functions = sa.text(
        "SELECT p.oid::regprocedure::text AS signature, p.proname AS name FROM pg_proc p "
        "WHERE p.pronamespace = CAST(:schema AS regnamespace)"
    )
    for r in connection.execute(functions, {"schema": SCHEMA}).all():
        if r.name not in _OF_AUDIT:
            _run(connection, f"ALTER FUNCTION {r.signature} OWNER TO {administrator}")
    _run(connection, f"ALTER SEQUENCE embedding_numbers OWNER TO {administrator}")
    if linking:
        connection.execute(sa.select(sa.func.semblance_projects.share(projects.c.place)))


def _create_roles(connection: sa.Connection, address: ServerAddress) -> dict[str, str]:
    """Create the roles of the library, named for its database, each a member of the one before.

    Raises:
        SemblanceError: the server has roles of these names that are not the library's.
    """
    database = str(connection.execute(sa.select(sa.func.current_database())).scalar_one())
    roles = {right: f"{database}_{right}" for right in RIGHTS}
    if any(len(role.encode()) > _LONGEST for role in roles.values()):
        raise SemblanceError(
            tr_lazy("The name of the database {name} is too long for the names of its roles.", name=database),
            "Rename the database.",
        )
    taken = sa.text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:names)")
    if found := list(connection.execute(taken, {"names": list(roles.values())}).scalars()):
        raise SemblanceError(
            tr_lazy(
                "The server {host} has roles of an earlier library of this name: {roles}.",
                host=address.host,
                roles=", ".join(sorted(found)),
            ),
            "Drop them with DROP ROLE, or give the database another name.",
        )
    lower = ""
    for right, role in roles.items():
        _run(connection, f"CREATE ROLE {_name(role)} NOLOGIN {f'IN ROLE {_name(lower)}' if lower else ''}")
        lower = role
        connection.execute(library_roles.insert().values(name=right, role=role))
    me = str(connection.execute(sa.text("SELECT session_user")).scalar_one())
    _run(
        connection,
        f"GRANT {_name(roles[ADMINISTRATOR])} TO {_name(me)} WITH SET TRUE, INHERIT TRUE",
    )
    apply_rights(connection)
    return roles


def _roles(connection: sa.Connection) -> dict[str, str]:
    return {r.name: r.role for r in connection.execute(sa.select(library_roles))}


def _all_rights(connection: sa.Connection) -> Sequence[tuple[Person, str]]:
    """Each right of each role, and who gave it."""
    members = sa.text(
        "SELECT m.rolname AS name, r.name AS right, b.rolname AS giver FROM library_roles r "
        "JOIN pg_roles g ON g.rolname = r.role JOIN pg_auth_members a ON a.roleid = g.oid "
        "JOIN pg_roles m ON m.oid = a.member JOIN pg_roles b ON b.oid = a.grantor"
    )
    return [(Person(r.name, r.right), r.giver) for r in connection.execute(members)]


def _run(connection: sa.Connection, statement: str) -> None:
    # Names of roles cannot be parameters; they are quoted by the driver.
    connection.exec_driver_sql(statement.replace("%", "%%"))


def _name(name: str) -> str:
    from psycopg import sql

    return sql.Identifier(name).as_string()


def _literal(value: str) -> str:
    from psycopg import sql

    return sql.Literal(value).as_string()
