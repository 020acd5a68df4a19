"""Teaching collections: named lists of cases, of places in them, and of notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.annotations import refuse_others
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.records import account, unique_name
from semblance.core.library.schema import collection_items, collections
from semblance.core.normal_text import storable

#: Longer names do not fit where they are shown.
MAX_NAME_LENGTH = 80


@dataclass(frozen=True)
class CollectionItem:
    """A case in a collection by its id, which may be gone from the library; ``region``: a place in it, in pixels, of
    the ``slice`` of a volume. ``id`` is ``None`` until it is stored."""

    case: str
    region: Region | None = None
    slice: int | None = None
    notes: str = ""
    id: int | None = None
    author: str = ""

    @property
    def place(self) -> Region | None:
        """The region on its slice; ``None`` without one."""
        if self.region is None or self.region.z is not None:
            return self.region
        return replace(self.region, z=self.slice)


@dataclass(frozen=True)
class Collection:
    """A teaching collection with its items in order; ``created``: ISO 8601, UTC."""

    id: int
    name: str
    notes: str
    author: str
    created: str
    items: tuple[CollectionItem, ...] = ()

    @property
    def cases(self) -> list[str]:
        """The cases of the items in order, each once."""
        return list(dict.fromkeys(item.case for item in self.items))


class CollectionTable:
    """The teaching collections of a library; every change is a transaction.

    Each belongs to who made it: on a server others but curators read it and duplicate it.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def all(self) -> tuple[Collection, ...]:
        """The collections, by name."""
        rows = self._catalogue.read(sa.select(collections).order_by(collections.c.name))
        t = collection_items
        items: dict[int, list[CollectionItem]] = {}
        for r in self._catalogue.read(sa.select(t).order_by(t.c.position, t.c.id)) if rows else ():
            items.setdefault(r.collection, []).append(
                CollectionItem(
                    r.case,
                    None if r.region is None else Region.from_json(r.region),
                    r.slice,
                    r.notes,
                    r.id,
                    r.author,
                )
            )
        found = [
            Collection(r.id, r.name, r.notes, r.author, r.created, tuple(items.get(r.id, ()))) for r in rows
        ]
        return tuple(sorted(found, key=lambda one: (one.name.casefold(), one.name)))

    def get(self, name: str) -> Collection:
        """The collection called ``name``.

        Raises:
            BadArguments: there is none; the hint lists those there are.
        """
        found = self.all()
        for one in found:
            if one.name == name:
                return one
        raise BadArguments(
            tr_lazy("The library has no collection '{name}'.", name=name),
            tr_lazy("There are: {names}.", names=", ".join(one.name for one in found) or "–"),
        )

    def make(self, name: str, items: Sequence[CollectionItem] = (), notes: str = "") -> int:
        """The id of a new collection.

        Raises:
            BadInput: no name, too long a one, or one that is taken.
        """
        checked = self._check_name(name)
        author = self._catalogue.author(account())
        values = {
            "name": checked,
            "notes": storable(notes),
            "author": author,
            "created": self._catalogue.now(),
        }
        with self._catalogue.transaction() as connection:
            made = connection.execute(collections.insert().values(**values))
            key = int(made.inserted_primary_key[0])
            _insert(connection, key, items, author)
        return key

    def duplicate(self, key: int) -> int:
        """The id of a copy under a name of its own, which is the user's.

        Raises:
            BadArguments: no such collection.
        """
        one = self._get(key)
        name = unique_name(one.name[: MAX_NAME_LENGTH - 4], [other.name for other in self.all()])
        return self.make(name, one.items, one.notes)

    def rename(self, key: int, name: str) -> None:
        """Give a collection another name.

        Raises:
            BadArguments: no such collection.
            BadInput: as :meth:`make`.
            SemblanceError: another person's.
        """
        one = self._own(key)
        if name != one.name:
            checked = self._check_name(name, key)
            with self._catalogue.transaction() as connection:
                connection.execute(collections.update().where(collections.c.id == key).values(name=checked))

    def add(self, key: int, items: Sequence[CollectionItem]) -> int:
        """Put ``items`` at the end of a collection, without those that it has; the number added.

        Raises:
            BadArguments: no such collection.
            SemblanceError: another person's.
        """
        one = self._own(key)
        known = {(item.case, item.slice, item.region) for item in one.items}
        new = [item for item in items if (item.case, item.slice, item.region) not in known]
        self.set_items(key, [*one.items, *new])
        return len(new)

    def set_items(self, key: int, items: Sequence[CollectionItem]) -> None:
        """Have exactly ``items`` in a collection, in this order; those with an id keep it.

        Raises:
            BadArguments: no such collection.
            SemblanceError: another person's.
        """
        one = self._own(key)
        before = {item.id: (position, item) for position, item in enumerate(one.items)}
        kept = {item.id for item in items if item.id in before}
        t = collection_items
        with self._catalogue.transaction() as connection:
            connection.execute(t.delete().where(t.c.id.in_(before.keys() - kept)))
            for position, item in enumerate(items):
                if item.id in kept and before[item.id] != (position, item):
                    changed = t.update().where(t.c.id == item.id)
                    connection.execute(changed.values(**_values(item), position=position))
            new = {position: item for position, item in enumerate(items) if item.id not in kept}
            _insert(connection, key, new.values(), self._catalogue.author(account()), new.keys())

    def delete(self, key: int) -> Collection:
        """Delete a collection with its items; what :meth:`restore` brings back.

        Raises:
            BadArguments: no such collection.
            SemblanceError: another person's.
        """
        one = self._own(key)
        with self._catalogue.transaction() as connection:
            connection.execute(collection_items.delete().where(collection_items.c.collection == key))
            connection.execute(collections.delete().where(collections.c.id == key))
        return one

    def restore(self, deleted: Collection) -> int:
        """The id under which a deleted collection is back; it gets another name where its own is taken."""
        name = unique_name(deleted.name, [one.name for one in self.all()])
        values = {"name": name, "notes": deleted.notes, "author": deleted.author, "created": deleted.created}
        with self._catalogue.transaction() as connection:
            made = connection.execute(collections.insert().values(**values))
            key = int(made.inserted_primary_key[0])
            _insert(connection, key, deleted.items, deleted.author)
        return key

    def _get(self, key: int) -> Collection:
        for one in self.all():
            if one.id == key:
                return one
        raise BadArguments("That collection is no longer in this library.", "Open the list again.")

    def _own(self, key: int) -> Collection:
        one = self._get(key)
        refuse_others(self._catalogue, [one.author])
        return one

    def _check_name(self, name: str, own: int | None = None) -> str:
        short = " ".join(storable(name).split())
        if not short:
            raise BadInput("A collection needs a name.", "Type a word or two, such as 'spiculated masses'.")
        if len(short) > MAX_NAME_LENGTH:
            raise BadInput(
                tr_lazy("The name '{short}…' is too long.", short=short[:40]),
                tr_lazy("Use at most {longest} characters.", longest=MAX_NAME_LENGTH),
            )
        for one in self.all():
            if one.id != own and one.name.casefold() == short.casefold():
                raise BadInput(
                    tr_lazy("There is a collection called '{one}' already.", one=one.name),
                    "Choose another name.",
                )
        return short


def _insert(
    connection: sa.Connection,
    key: int,
    items: Iterable[CollectionItem],
    author: str,
    positions: Iterable[int] | None = None,
) -> None:
    listed = list(items)
    rows = [
        {"collection": key, "position": position, "author": author, **_values(item)}
        for position, item in zip(range(len(listed)) if positions is None else positions, listed, strict=True)
    ]
    if rows:
        connection.execute(collection_items.insert(), rows)


def _values(item: CollectionItem) -> dict[str, Any]:
    return {
        "case": item.case,
        "slice": item.slice,
        "region": None if item.region is None else item.region.to_json(),
        "notes": storable(item.notes),
    }
