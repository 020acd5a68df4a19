"""Who may do what in a library on a server: roles of PostgreSQL, which the server enforces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.location import ServerAddress
from semblance.core.library.records import READER, RIGHTS
from semblance.core.library.server.catalogue import server_function
from semblance.core.library.server.set_up import LONGEST, known_roles, quoted_name, quoted_text


@dataclass(frozen=True)
class Person:
    """A role that may log in, and its ``right`` in the library."""

    name: str
    right: str


def people_of(connection: sa.Connection) -> list[Person]:
    """Those who have a right in the library, by name; of several rights the highest."""
    highest: dict[str, str] = {}
    roles = known_roles(connection).values()
    for one, _ in _all_rights(connection):
        if one.name not in roles:
            highest[one.name] = max(highest.get(one.name, one.right), one.right, key=RIGHTS.index)
    return [Person(name, highest[name]) for name in sorted(highest)]


def right_of_user(connection: sa.Connection) -> str:
    """The right of the account that is connected."""
    right = connection.execute(sa.select(server_function("right_in"))).scalar()
    return READER if right is None else str(right)


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
    roles = known_roles(connection)
    known = connection.execute(
        sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": person}
    ).first()
    if person in roles.values() or not person or len(person.encode()) > LONGEST:
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
        _run(connection, f"CREATE ROLE {quoted_name(person)} LOGIN PASSWORD {quoted_text(hashed)}")
    have = [(one.right, giver) for one, giver in _all_rights(connection) if one.name == person]
    for other, giver in have:
        if other != right:
            # Without the giver, the server would do nothing where somebody else gave the right.
            _run(
                connection,
                f"REVOKE {quoted_name(roles[other])} FROM {quoted_name(person)} GRANTED BY {quoted_name(giver)}",
            )
    if right is not None and right not in [other for other, _ in have]:
        _run(connection, f"GRANT {quoted_name(roles[right])} TO {quoted_name(person)}")


def _all_rights(connection: sa.Connection) -> Sequence[tuple[Person, str]]:
    """Each right of each role, and who gave it."""
    members = sa.text(
        "SELECT m.rolname AS name, r.name AS right, b.rolname AS giver FROM library_roles r "
        "JOIN pg_roles g ON g.rolname = r.role JOIN pg_auth_members a ON a.roleid = g.oid "
        "JOIN pg_roles m ON m.oid = a.member JOIN pg_roles b ON b.oid = a.grantor WHERE r.name = ANY(:rights)"
    )
    found = connection.execute(members, {"rights": list(RIGHTS)})
    return [(Person(r.name, r.right), r.giver) for r in found]


def _run(connection: sa.Connection, statement: str) -> None:
    # Names of roles cannot be parameters; they are quoted by the driver.
    connection.exec_driver_sql(statement.replace("%", "%%"))
