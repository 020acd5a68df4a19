"""Projects of a library on a server: who may see which cases for which purpose, until when, under other names."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from semblance.core.errors import AccessRefused, BadArguments, SemblanceError
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.language import tr_lazy
from semblance.core.library.database import in_batches, upsert
from semblance.core.library.location import ServerAddress
from semblance.core.library.records import ANNOTATOR, READER, OfferedProject, checked_name
from semblance.core.library.server.tables import (
    LOBBY,
    project_cases,
    project_members,
    project_schema,
    projects,
)

#: What a member may do in a project. Curators of the library have their right in all its projects.
MEMBER_RIGHTS = (READER, ANNOTATOR)
OPEN, EXPIRED, CLOSED = "open", "expired", "closed"


@dataclass(frozen=True)
class Project:
    """A project as its managers see it; ``closed``: when it was, or ``None``."""

    id: int
    name: str
    purpose: str
    until: datetime.date
    created: str
    by: str
    closed: str | None
    has_ended: bool
    members: Mapping[str, str]
    cases: int

    @property
    def state(self) -> str:
        """One of :data:`OPEN`, :data:`EXPIRED` and :data:`CLOSED`."""
        if self.closed is not None:
            return CLOSED
        return EXPIRED if self.has_ended else OPEN


#: State and last day of the project of a name; nulls where there is none that the account is a member of.
STATE = f"SELECT state, until FROM {LOBBY}.state(%s)"
#: The day by the clock of the server.
_TODAY = sa.cast(sa.func.timezone("UTC", sa.func.clock_timestamp()), sa.Date)
#: Whether the account may ask for projects: only who has a right in the library or was let into a project.
_MAY_ASK = sa.text(f"SELECT has_schema_privilege(to_regnamespace('{LOBBY}')::oid, 'USAGE')")


def check_open(connection: sa.Connection, address: ServerAddress) -> str:
    """Check that the account may open the project of ``address`` today. Returns the last day.

    Raises:
        AccessRefused: the library has no such project, or not for this account, or it is closed or has ended.
    """
    state = until = None
    if connection.execute(_MAY_ASK).scalar():
        state, until = connection.exec_driver_sql(STATE, (address.project,)).one()
    check_state(address, state, until)
    return str(until)


def check_state(address: ServerAddress, state: str | None, until: datetime.date | str | None) -> None:
    """Check what the server says of the project of ``address``; see :data:`STATE`.

    Raises:
        AccessRefused: it may not be read.
    """
    if state is None:
        raise AccessRefused(
            tr_lazy(
                "{library} has no project '{name}' that you are a member of.",
                library=address.with_project(""),
                name=address.project,
            ),
            tr_lazy(
                "Check the name. A curator of the library adds you with `semblance library project add`."
            ),
        )
    if state == CLOSED:
        raise AccessRefused(
            tr_lazy("The project '{name}' is closed.", name=address.project),
            tr_lazy("Nobody can open it any more. Ask a curator of the library."),
        )
    if state == EXPIRED:
        raise AccessRefused(
            tr_lazy("The project '{name}' ended on {until}.", name=address.project, until=str(until)),
            tr_lazy(
                "A curator of the library can set a later date with `semblance library project create --until`."
            ),
        )


def offered_projects(connection: sa.Connection) -> list[OfferedProject]:
    """The projects that the account may open now, by name."""
    if not connection.execute(_MAY_ASK).scalar():
        return []
    rows = connection.execute(sa.text(f'SELECT name, purpose, until, "right" FROM {LOBBY}.mine()'))
    return [OfferedProject(r.name, r.purpose, str(r.until), r.right) for r in rows]


def make_project(connection: sa.Connection, name: str, purpose: str, until: str) -> None:
    """Make a project, or give one of this name another purpose and date.

    Raises:
        BadArguments: no name or purpose, or no date in the future.
        SemblanceError: the user may not.
    """
    name, purpose = checked_name(name, "A project"), checked_name(purpose, "A purpose")
    try:
        day = datetime.date.fromisoformat(until)
    except ValueError:
        raise BadArguments(
            tr_lazy("'{until}' is not a date.", until=until), "Give one such as 2030-12-31."
        ) from None
    if day < connection.execute(sa.select(_TODAY)).scalar_one():
        raise BadArguments(tr_lazy("The date {until} has passed.", until=until), "Give a later one.")
    values = {"purpose": purpose, "until": day}
    changed = connection.execute(
        projects.update().where(projects.c.name == name, projects.c.closed.is_(None)).values(values)
    )
    if changed.rowcount:
        return
    if connection.execute(sa.select(projects.c.id).where(projects.c.name == name)).first():
        raise BadArguments(tr_lazy("The project '{name}' is closed.", name=name), "Give another name.")
    made = sa.text(f"SELECT {LOBBY}.make(:name, :purpose, :until, :place)")
    connection.execute(made, {**values, "name": name, "place": project_schema(name)})


def projects_of(connection: sa.Connection) -> list[Project]:
    """All projects, by name."""
    members: dict[int, dict[str, str]] = {}
    for r in connection.execute(sa.select(project_members).order_by(project_members.c.person)):
        members.setdefault(r.project, {})[r.person] = r.right
    query = sa.select(projects, (projects.c.until < _TODAY).label("has_ended")).order_by(projects.c.name)
    counted = sa.select(project_cases.c.project, sa.func.count()).group_by(project_cases.c.project)
    counts = {r[0]: r[1] for r in connection.execute(counted)}
    return [
        Project(r.id, r.name, r.purpose, r.until, r.created, r.by, r.closed, r.has_ended,
                members.get(r.id, {}), counts.get(r.id, 0))
        for r in connection.execute(query)
    ]  # fmt: skip


def project_named(connection: sa.Connection, name: str) -> Project:
    """The project called ``name``.

    Raises:
        BadArguments: there is none; the message lists those there are.
    """
    found = projects_of(connection)
    for one in found:
        if one.name == name:
            return one
    raise BadArguments(
        tr_lazy("There is no project '{name}'.", name=name),
        tr_lazy("There are: {names}.", names=", ".join(one.name for one in found) or tr_lazy("none yet")),
    )


def set_members(
    connection: sa.Connection, project: Project, people: Sequence[str], right: str | None
) -> None:
    """Let ``people`` into the project with ``right``, or out of it.

    Raises:
        BadArguments: no such right or account.
    """
    if right is None:
        mine = project_members.c.project == project.id
        connection.execute(project_members.delete().where(mine, project_members.c.person.in_(people)))
        return
    if right not in MEMBER_RIGHTS:
        raise BadArguments(
            tr_lazy("There is no right '{right}'.", right=right),
            tr_lazy("There are: {rights}.", rights=", ".join(MEMBER_RIGHTS)),
        )
    known = sa.text("SELECT rolname FROM pg_roles WHERE rolcanlogin AND rolname = ANY(:names)")
    found = set(connection.execute(known, {"names": list(people)}).scalars())
    for person in people:
        if person not in found:
            raise BadArguments(
                tr_lazy("The server has no account '{person}'.", person=person),
                "An administrator of the server creates it with CREATE ROLE … LOGIN.",
            )
    let_in = sa.text(f"SELECT {LOBBY}.let_in(:project, :person, :right)")
    for person in people:
        connection.execute(let_in, {"project": project.id, "person": person, "right": right})


def close_project(connection: sa.Connection, project: Project, time: str) -> None:
    """Have nobody open the project any more, from ``time`` (ISO 8601, UTC) on."""
    connection.execute(projects.update().where(projects.c.id == project.id).values(closed=time))


def remove_project(connection: sa.Connection, project: Project) -> None:
    """Remove the project with everything in it."""
    connection.execute(sa.text(f"SELECT {LOBBY}.remove(:name)"), {"name": project.name})


def project_pseudonyms(connection: sa.Connection, project: Project) -> Pseudonyms:
    """The pseudonyms of the project, made with the key that only managers can read."""
    key = connection.execute(sa.select(projects.c.key).where(projects.c.id == project.id)).scalar_one()
    return Pseudonyms(bytes.fromhex(key))


def case_pseudonyms(connection: sa.Connection, project: Project) -> dict[str, str]:
    """Id in the library -> id in the project, of all its cases."""
    query = sa.select(project_cases.c.case, project_cases.c.pseudonym)
    of_project = query.where(project_cases.c.project == project.id)
    return {r.case: r.pseudonym for r in connection.execute(of_project)}


def link_cases(connection: sa.Connection, project: Project, pseudonyms: Mapping[str, str]) -> None:
    """Note ids in the library and in the project."""
    rows = [{"project": project.id, "case": case, "pseudonym": name} for case, name in pseudonyms.items()]
    if rows:
        connection.execute(upsert(connection, project_cases, ("project", "case")), rows)


def unlink_cases(connection: sa.Connection, project: Project, case_ids: Sequence[str]) -> None:
    """Forget the ids of cases that were removed from the project."""
    for part in in_batches(case_ids):
        of_project = project_cases.delete().where(project_cases.c.project == project.id)
        connection.execute(of_project.where(project_cases.c.case.in_(part)))


def no_removal_error(address: ServerAddress, names: Sequence[str]) -> SemblanceError:
    """The error for a library that is to be removed and has projects."""
    return SemblanceError(
        tr_lazy("{library} has projects: {names}.", library=address, names=", ".join(names)),
        "They are not part of a copy. Remove them first: `semblance library project close … --remove`.",
    )
