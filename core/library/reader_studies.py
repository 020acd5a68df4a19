"""The reader studies of a library: their designs and the readers' answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.schema import reader_answers, reader_studies


@dataclass(frozen=True)
class StoredStudy:
    """A reader study; ``design`` as it was stored, ``created`` the time in ISO 8601, UTC."""

    id: int
    name: str
    design: Mapping[str, Any]
    created: str


class ReaderStudyTable:
    """Reader studies of a library; every change is a transaction."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def all(self) -> tuple[StoredStudy, ...]:
        """The studies, oldest first."""
        rows = self._catalogue.read(sa.select(reader_studies).order_by(reader_studies.c.id))
        return tuple(StoredStudy(r.id, r.name, r.design, r.created) for r in rows)

    def get(self, name: str) -> StoredStudy:
        """The study called ``name``.

        Raises:
            BadArguments: there is none; the hint lists those there are.
        """
        found = self.all()
        study = next((one for one in found if one.name == name), None)
        if study is None:
            raise BadArguments(
                tr_lazy("The library has no reader study '{name}'.", name=name),
                tr_lazy("There are: {names}.", names=", ".join(one.name for one in found) or "–"),
            )
        return study

    def add(self, name: str, design: Mapping[str, Any]) -> None:
        """Add a study.

        Raises:
            BadArguments: no name, or one that is taken.
        """
        if not name.strip():
            raise BadArguments("The reader study has no name.", "Give it a name.")
        with self._catalogue.transaction() as connection:
            if connection.execute(
                sa.select(reader_studies.c.id).where(reader_studies.c.name == name)
            ).first():
                raise BadArguments(
                    tr_lazy("There is a reader study '{name}' already.", name=name), "Choose another name."
                )
            connection.execute(
                reader_studies.insert().values(name=name, design=dict(design), created=self._catalogue.now())
            )

    def delete(self, name: str) -> None:
        """Delete a study with its answers.

        Raises:
            BadArguments: there is none.
        """
        key = self.get(name).id
        with self._catalogue.transaction() as connection:
            connection.execute(reader_answers.delete().where(reader_answers.c.study == key))
            connection.execute(reader_studies.delete().where(reader_studies.c.id == key))

    def answers(self, study: int) -> list[Mapping[str, Any]]:
        """All answers to the study with the id ``study``, by reader and number."""
        chosen = sa.select(reader_answers).where(reader_answers.c.study == study)
        rows = self._catalogue.read(chosen.order_by(reader_answers.c.reader, reader_answers.c.number))
        return [{key: value for key, value in row._mapping.items() if key != "study"} for row in rows]

    def add_answer(self, study: int, answer: Mapping[str, Any]) -> None:
        """Store an answer; it counts only once, and a second one to the same reading is refused.

        Raises:
            BadArguments: the reading is answered already.
        """
        same = (
            reader_answers.c.study == study,
            reader_answers.c.reader == answer["reader"],
            reader_answers.c.number == answer["number"],
        )
        with self._catalogue.transaction() as connection:
            if connection.execute(sa.select(reader_answers.c.number).where(*same)).first():
                raise BadArguments(
                    "This case was answered already, perhaps in another window.", "Open the reading again."
                )
            connection.execute(reader_answers.insert().values(study=study, **answer))
