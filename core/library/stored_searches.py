"""The saved searches of a library, by name; deleted ones can be restored for some time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.records import unique_name
from semblance.core.library.schema import judgements, searches

#: Names in brackets are reserved: the search in the window, and deleted searches.
_OWN = "("
_DELETED = "(deleted) "
#: Number of deleted searches that can be restored; older ones are removed.
MAX_DELETED = 20


@dataclass(frozen=True)
class StoredSearch:
    """A saved search; ``state`` as it was stored, ``saved`` the time in ISO 8601, UTC."""

    name: str
    state: Mapping[str, Any]
    saved: str


def stored_searches(catalogue: Catalogue) -> list[StoredSearch]:
    """The searches saved by the user, newest first."""
    rows = catalogue.read(sa.select(searches).order_by(searches.c.saved.desc(), searches.c.id.desc()))
    return [StoredSearch(r.name, r.state, r.saved) for r in rows if not r.name.startswith(_OWN)]


def deleted_searches(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    """Name, time of deletion (ISO 8601, UTC) and token of the deleted searches, the last deleted first."""
    chosen = sa.select(searches.c.name).where(searches.c.name.startswith(_DELETED, autoescape=True))
    tokens = sorted((row.name for row in catalogue.read(chosen)), reverse=True)
    parts = [(token, token.removeprefix(_DELETED).partition(" ")) for token in tokens]
    return [(name, when, token) for token, (when, _, name) in parts]


def add_search(catalogue: Catalogue, name: str, state: Mapping[str, Any]) -> None:
    """Save a search under a new name.

    Raises:
        BadArguments: no name, one in brackets, or one there is already.
    """
    with catalogue.transaction() as connection:
        _check_new_name(connection, name)
        connection.execute(searches.insert().values(name=name, state=dict(state), saved=catalogue.now()))


def update_search(
    catalogue: Catalogue, name: str, renewed: Callable[[StoredSearch], Mapping[str, Any]]
) -> bool:
    """Replace the state of a search by what ``renewed`` makes of it, within the transaction; ``False`` where it was
    deleted or renamed meanwhile."""
    with catalogue.transaction() as connection:
        found = connection.execute(sa.select(searches).where(searches.c.name == name)).first()
        if found is None:
            return False
        state = dict(renewed(StoredSearch(found.name, found.state, found.saved)))
        if state != dict(found.state):
            chosen = searches.update().where(searches.c.name == name)
            connection.execute(chosen.values(state=state, saved=catalogue.now()))
        return True


def set_outcome(
    catalogue: Catalogue,
    name: str,
    renewed: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None],
    *,
    key: str,
) -> None:
    """Store what ``renewed`` makes of the outcome under ``key`` of a search, within the transaction; ``None`` is no
    outcome. Nothing else of the search changes.

    Raises:
        BadArguments: no such search.
    """
    with catalogue.transaction() as connection:
        found = connection.execute(sa.select(searches.c.state).where(searches.c.name == name)).first()
        if found is None or name.startswith(_OWN):
            raise BadArguments(
                tr_lazy("There is no search '{old}' any more.", old=name),
                "Another window may have changed it.",
            )
        outcome = renewed(found.state.get(key))
        state = {other: value for other, value in found.state.items() if other != key}
        if outcome is not None:
            state[key] = dict(outcome)
        connection.execute(searches.update().where(searches.c.name == name).values(state=state))


def rename_search(catalogue: Catalogue, old: str, new: str) -> None:
    """Rename a search.

    Raises:
        BadArguments: no such search, or a name it cannot have.
    """
    with catalogue.transaction() as connection:
        if new != old:
            _check_new_name(connection, new)
        _rename(connection, old, new)


def delete_search(catalogue: Catalogue, name: str) -> str:
    """Delete a search; returns the token for :func:`restore_search`.

    Raises:
        BadArguments: no such search.
    """
    token = f"{_DELETED}{catalogue.now()} {name}"
    with catalogue.transaction() as connection:
        _rename(connection, name, token)
        oldest = connection.execute(
            sa.select(searches.c.id)
            .where(searches.c.name.startswith(_DELETED, autoescape=True))
            .order_by(searches.c.name.desc())
            .offset(MAX_DELETED)
        ).scalars()
        connection.execute(searches.delete().where(searches.c.id.in_(list(oldest))))
    return token


def restore_search(catalogue: Catalogue, token: str) -> str:
    """Restore a deleted search; returns its name, a new one where the old one is used by now.

    Raises:
        BadArguments: it can no longer be restored.
    """
    name = token.removeprefix(_DELETED).partition(" ")[2]
    with catalogue.transaction() as connection:
        new_name = unique_name(name, list(connection.execute(sa.select(searches.c.name)).scalars()))
        _rename(connection, token, new_name)
    return new_name


def copy_judgements(catalogue: Catalogue, old: str, new: str) -> None:
    """Copy the judgements of a ledger into another, including undone ones, in their order."""
    with catalogue.transaction() as connection:
        columns = [c for c in judgements.c if c.name not in ("id", "ledger")]
        chosen = (
            sa.select(sa.literal(new), *columns).where(judgements.c.ledger == old).order_by(judgements.c.id)
        )
        connection.execute(judgements.insert().from_select(["ledger", *(c.name for c in columns)], chosen))


def _exists(connection: sa.Connection, name: str) -> bool:
    return connection.execute(sa.select(searches.c.id).where(searches.c.name == name)).first() is not None


def _check_new_name(connection: sa.Connection, name: str) -> None:
    if not name.strip() or name.startswith(_OWN):
        raise BadArguments(
            "A search needs a name that does not begin with a bracket.", "Choose another name."
        )
    if _exists(connection, name):
        raise BadArguments(
            tr_lazy("There is a search named '{name}' already.", name=name), "Choose another name."
        )


def _rename(connection: sa.Connection, old: str, new: str) -> None:
    done = connection.execute(searches.update().where(searches.c.name == old).values(name=new))
    if not done.rowcount:
        raise BadArguments(
            tr_lazy("There is no search '{old}' any more.", old=old), "Another window may have changed it."
        )
