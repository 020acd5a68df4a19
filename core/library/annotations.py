"""What people measured and marked in the images of a library, and their notes on cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.imaging import measurements
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.database import in_batches, upsert
from semblance.core.library.records import account
from semblance.core.library.schema import case_annotations, case_notes, cases
from semblance.core.normal_text import storable

#: What is drawn or marked.
KEY_IMAGE = "key_image"
KINDS = (*measurements.KINDS, KEY_IMAGE)


@dataclass(frozen=True)
class Annotation:
    """One of :data:`KINDS` in an image, or in the ``slice`` of a volume; ``data``: its points, in pixels of the image,
    as the kind has them. ``id`` is ``None`` until it is stored, and so are ``author`` and ``time`` (ISO 8601, UTC)."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
    slice: int | None = None
    id: int | None = None
    author: str = ""
    time: str = ""


@dataclass(frozen=True)
class CaseNote:
    """The note on a case."""

    text: str
    author: str
    time: str


class AnnotationTable:
    """Annotations of cases, by case ids; every change is a transaction. Others' annotations stay unless they are
    changed, which a server refuses to all but curators."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def of_case(self, case_id: str) -> tuple[Annotation, ...]:
        """The annotations of a case, oldest first; none where the library has no such case."""
        row = self._catalogue.rows_of([case_id]).get(case_id)
        if row is None:
            return ()
        chosen = (
            sa.select(case_annotations).where(case_annotations.c.case == row).order_by(case_annotations.c.id)
        )
        return tuple(
            Annotation(r.kind, r.data, r.slice, r.id, r.author, r.time) for r in self._catalogue.read(chosen)
        )

    def replace(self, case_id: str, wanted: Sequence[Annotation]) -> tuple[Annotation, ...]:
        """Have exactly ``wanted`` on a case: those with an id are changed, those without one added, others removed;
        the annotations after it.

        Raises:
            BadArguments: another kind.
            BadInput: the library has no such case.
            SemblanceError: another person's annotation, which the user may not change.
        """
        if unknown := [one.kind for one in wanted if one.kind not in KINDS]:
            raise BadArguments(
                tr_lazy("There is no kind of annotation '{kind}'.", kind=unknown[0]),
                tr_lazy("There are: {names}.", names=", ".join(KINDS)),
            )
        row = self._catalogue.row_of(case_id)
        before = {one.id: one for one in self.of_case(case_id)}
        kept = {one.id: one for one in wanted if one.id in before}
        removed = before.keys() - kept.keys()
        changed = {key: one for key, one in kept.items() if _values(one) != _values(before[key])}
        refuse_others(self._catalogue, [before[key].author for key in (*removed, *changed)])
        author, time = self._catalogue.author(account()), self._catalogue.now()
        with self._catalogue.transaction() as connection:
            connection.execute(case_annotations.delete().where(case_annotations.c.id.in_(removed)))
            for key, one in changed.items():
                statement = case_annotations.update().where(case_annotations.c.id == key)
                connection.execute(statement.values(**_values(one), time=time))
            for one in wanted:
                if one.id not in before:
                    added = case_annotations.insert().values(
                        **_values(one), case=row, author=author, time=time
                    )
                    connection.execute(added)
        return self.of_case(case_id)


class CaseNoteTable:
    """Notes on cases, one for each, by case ids; every change is a transaction."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def of_cases(self, case_ids: Sequence[str]) -> dict[str, CaseNote]:
        """Case id -> its note, of those that have one."""
        found: dict[str, CaseNote] = {}
        for part in in_batches(case_ids):
            query = sa.select(cases.c.case_id, case_notes).join(cases, cases.c.id == case_notes.c.case)
            for r in self._catalogue.read(query.where(cases.c.case_id.in_(part))):
                found[r.case_id] = CaseNote(r.text, r.author, r.time)
        return found

    def set(self, case_id: str, text: str) -> None:
        """Keep ``text`` with a case in place of the note it had; an empty one removes it.

        Raises:
            BadInput: the library has no such case.
            SemblanceError: the note is another person's, and the user may not change it.
        """
        row = self._catalogue.row_of(case_id)
        text = storable(text).strip()
        before = self.of_cases([case_id]).get(case_id)
        if text == (before.text if before else ""):
            return
        if before is not None:
            refuse_others(self._catalogue, [before.author])
        values = {"text": text, "author": self._catalogue.author(account()), "time": self._catalogue.now()}
        with self._catalogue.transaction() as connection:
            if not text:
                connection.execute(case_notes.delete().where(case_notes.c.case == row))
            else:
                connection.execute(upsert(connection, case_notes, ("case",)), {"case": row, **values})


def refuse_others(catalogue: Catalogue, authors: Iterable[str]) -> None:
    """Refuse to change what another person wrote, where the user may not.

    Raises:
        SemblanceError: one of ``authors`` is another person.
    """
    for author in authors:
        if not catalogue.may_change(author):
            raise SemblanceError(
                tr_lazy("{author} wrote this. You can change only what you wrote.", author=author),
                "Nothing was changed. A curator of the library can change it.",
            )


def _values(one: Annotation) -> dict[str, Any]:
    return {"kind": one.kind, "data": dict(one.data), "slice": one.slice}
