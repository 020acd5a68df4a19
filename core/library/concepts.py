"""The concepts of a library: a name, with positive and negative example cases."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.records import ConceptRecord, MarkRecord
from semblance.core.library.schema import concept_marks, concepts

#: Longer names do not fit where they are shown.
MAX_NAME_LENGTH = 40


class ConceptTable:
    """Concepts of a library; every change is a transaction."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def all(self, *, deleted: bool = False) -> tuple[ConceptRecord, ...]:
        """The concepts, or the deleted ones, oldest first."""
        condition = concepts.c.deleted.is_not(None) if deleted else concepts.c.deleted.is_(None)
        found = self._catalogue.read(sa.select(concepts).where(condition).order_by(concepts.c.id))
        if not found:
            return ()
        marks: dict[int, list[MarkRecord]] = {r.id: [] for r in found}
        rows = self._catalogue.read(sa.select(concept_marks).order_by(concept_marks.c.id))
        for r in rows:
            if r.concept in marks:
                marks[r.concept].append(MarkRecord(r.case, r.has, r.author, r.time))
        return tuple(
            ConceptRecord(r.id, r.name, r.author, r.time, r.deleted, tuple(marks[r.id])) for r in found
        )

    def add(self, name: str, author: str = "") -> int:
        """The id of a new concept.

        Raises:
            BadInput: no name, too long a one, or one that is taken.
        """
        checked = self._check_name(name)
        with self._catalogue.transaction() as connection:
            made = connection.execute(
                concepts.insert().values(name=checked, author=author, time=self._catalogue.now())
            )
            return int(made.inserted_primary_key[0])

    def rename(self, key: int, name: str) -> None:
        """Give it another name; errors as :meth:`add`, and BadArguments where it does not exist."""
        self._check_exists(key)
        checked = self._check_name(name, key)
        with self._catalogue.transaction() as connection:
            connection.execute(concepts.update().where(concepts.c.id == key).values(name=checked))

    def delete(self, key: int) -> None:
        """Delete it with its marks; :meth:`restore` undoes this."""
        self._set_deleted(key, self._catalogue.now())

    def restore(self, key: int) -> None:
        """Restore a deleted concept.

        Raises:
            BadInput: another concept has its name now.
        """
        names = {one.id: one.name for one in self.all(deleted=True)}
        if key in names:
            self._check_name(names[key], key)
        self._set_deleted(key, None)

    def _set_deleted(self, key: int, time: str | None) -> None:
        self._check_exists(key)
        with self._catalogue.transaction() as connection:
            connection.execute(concepts.update().where(concepts.c.id == key).values(deleted=time))

    def mark(self, key: int, marks: Iterable[tuple[str, bool | None]], author: str = "") -> None:
        """Mark cases as having the concept, as not having it, or (``None``) remove their mark; all or none.

        Everybody has a mark of their own on a case, and the marks of others stay. Where ``author`` has none, removing
        it removes those of others.

        Raises:
            BadArguments: no such concept.
            SemblanceError: marks of others that this user may not remove.
        """
        self._check_exists(key)
        time, author = self._catalogue.now(), self._catalogue.author(author)
        with self._catalogue.transaction() as connection:
            for case, has in marks:
                of_case = sa.and_(concept_marks.c.concept == key, concept_marks.c.case == case)
                own = sa.and_(of_case, concept_marks.c.author == author)
                deleted = connection.execute(concept_marks.delete().where(own)).rowcount
                if has is None and not deleted:
                    _delete_marks_of_others(connection, of_case, case)
                if has is not None:
                    values = {"concept": key, "case": case, "has": has, "author": author, "time": time}
                    connection.execute(concept_marks.insert().values(values))

    def _check_exists(self, key: int) -> None:
        """Raises BadArguments where there is no such concept."""
        if not self._catalogue.read(sa.select(concepts.c.id).where(concepts.c.id == key)):
            raise BadArguments("That concept is no longer in this library.", "Open the list again.")

    def _check_name(self, name: str, own: int | None = None) -> str:
        short = " ".join(name.split())
        if not short:
            raise BadInput("A concept needs a name.", "Type a word or two, such as 'spiculated margin'.")
        if len(short) > MAX_NAME_LENGTH:
            raise BadInput(
                tr_lazy("The name '{short}…' is too long.", short=short[:MAX_NAME_LENGTH]),
                tr_lazy("Use at most {longest} characters.", longest=MAX_NAME_LENGTH),
            )
        for one in self.all():
            if one.id != own and one.name.casefold() == short.casefold():
                raise BadInput(
                    tr_lazy("There is a concept called '{one}' already.", one=one.name),
                    "Choose another name.",
                )
        return short


def _delete_marks_of_others(connection: sa.Connection, of_case: sa.ColumnElement[bool], case: str) -> None:
    authors = [r.author for r in connection.execute(sa.select(concept_marks.c.author).where(of_case))]
    deleted = connection.execute(concept_marks.delete().where(of_case)).rowcount
    # A server leaves the rows that the user has no right to delete, and says nothing.
    if deleted < len(authors):
        raise SemblanceError(
            tr_lazy("{case} was marked by {authors}.", case=case, authors=", ".join(sorted(authors))),
            "Their marks were not changed. A curator can remove them.",
        )
