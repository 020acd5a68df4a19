"""The searches a library keeps, by name; what is deleted can come back for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.records import now, unique_name
from semblance.core.library.schema import judgements, searches

#: Names in brackets are the program's own: the search in the window, and what was deleted.
_OWN = "("
_DELETED = "(deleted) "
#: Deleted searches that are still there to come back; beyond these the oldest are gone.
MOST_DELETED = 20


@dataclass(frozen=True)
class StoredSearch:
    """``state`` as it was given; ``saved`` is ISO 8601 in UTC."""

    name: str
    state: Mapping[str, Any]
    saved: str


def stored_searches(catalogue: Catalogue) -> list[StoredSearch]:
    """Those with a name of their own, the newest first."""
    rows = catalogue.read(sa.select(searches).order_by(searches.c.saved.desc(), searches.c.id.desc()))
    return [StoredSearch(r.name, r.state, r.saved) for r in rows if not r.name.startswith(_OWN)]


def deleted_searches(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """Name, time of deletion (ISO 8601, UTC) and token of those that can come back, the last first."""
    chosen = sa.select(searches.c.name).where(searches.c.name.startswith(_DELETED, autoescape=True))
    tokens = sorted((row.name for row in catalogue.read(chosen)), reverse=True)
    parts = [(token, token.removeprefix(_DELETED).partition(" ")) for token in tokens]
    return [(name, when, token) for token, (when, _, name) in parts]


def add_search(catalogue: Catalogue, name: str, state: Mapping[str, Any]) -> None:
    """Keep a search under a new name.

    Raises:
        BadArguments: no name, one in brackets, or one there is already.
    """
    with catalogue.writing() as connection:
        _check(connection, name)
        connection.execute(searches.insert().values(name=name, state=dict(state), saved=now()))


def update_search(catalogue: Catalogue, name: str, state: Mapping[str, Any]) -> bool:
    """Keep another state under a name there is; false where it was deleted or renamed meanwhile."""
    with catalogue.writing() as connection:
        done = connection.execute(
            searches.update().where(searches.c.name == name).values(state=dict(state), saved=now())
        )
        return bool(done.rowcount)


def rename_search(catalogue: Catalogue, old: str, new: str) -> None:
    """Raises BadArguments: no such search, or a name it cannot have."""
    with catalogue.writing() as connection:
        if new != old:
            _check(connection, new)
        _renamed(connection, old, new)


def delete_search(catalogue: Catalogue, name: str) -> str:
    """Put a search away; returned is the token :func:`restore_search` takes.

    Raises:
        BadArguments: no such search.
    """
    token = f"{_DELETED}{now()} {name}"
    with catalogue.writing() as connection:
        _renamed(connection, name, token)
        gone = connection.execute(
            sa.select(searches.c.id)
            .where(searches.c.name.startswith(_DELETED, autoescape=True))
            .order_by(searches.c.name.desc())
            .offset(MOST_DELETED)
        ).scalars()
        connection.execute(searches.delete().where(searches.c.id.in_(list(gone))))
    return token


def restore_search(catalogue: Catalogue, token: str) -> str:
    """Bring back what was deleted; returned is its name, another where that was taken meanwhile.

    Raises:
        BadArguments: it is gone for good.
    """
    name = token.removeprefix(_DELETED).partition(" ")[2]
    with catalogue.writing() as connection:
        wanted = unique_name(name, list(connection.execute(sa.select(searches.c.name)).scalars()))
        _renamed(connection, token, wanted)
    return wanted


def copy_judgements(catalogue: Catalogue, old: str, new: str) -> None:
    """Copy what a ledger holds into another, undone ones too, in their order."""
    with catalogue.writing() as connection:
        columns = [c for c in judgements.c if c.name not in ("id", "ledger")]
        chosen = (
            sa.select(sa.literal(new), *columns).where(judgements.c.ledger == old).order_by(judgements.c.id)
        )
        connection.execute(judgements.insert().from_select(["ledger", *(c.name for c in columns)], chosen))


def _there(connection: sa.Connection, name: str) -> bool:
    return connection.execute(sa.select(searches.c.id).where(searches.c.name == name)).first() is not None


def _check(connection: sa.Connection, name: str) -> None:
    if not name.strip() or name.startswith(_OWN):
        raise BadArguments(
            "A search needs a name that does not begin with a bracket.", "Choose another name."
        )
    if _there(connection, name):
        raise BadArguments(
            tr_lazy("There is a search named '{name}' already.", name=name), "Choose another name."
        )


def _renamed(connection: sa.Connection, old: str, new: str) -> None:
    done = connection.execute(searches.update().where(searches.c.name == old).values(name=new))
    if not done.rowcount:
        raise BadArguments(
            tr_lazy("There is no search '{old}' any more.", old=old), "Another window may have changed it."
        )
