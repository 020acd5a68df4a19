"""Commands and menu entries for examples and for marking cases of a concept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.search.feedback import examples
from semblance.app.search.feedback.concepts import Concepts
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.core.language import tr
from semblance.core.library.case_columns import Rows


class ExampleCommands(QObject):
    """``selected_cases`` returns the catalogue rows of the selected cases in the focused panel.

    ``name_requested``: ask for the name of a new concept.
    """

    name_requested = Signal()

    def __init__(
        self, context: Context, parent: QWidget, concepts: Concepts, selected_cases: Callable[[], Rows]
    ) -> None:
        super().__init__(parent)
        self._context, self._parent, self._concepts = context, parent, concepts
        self._selected_cases = selected_cases
        self.commands: dict[str, Callable[[], object]] = {
            "example_like": partial(self.add_examples, like=True),
            "example_unlike": partial(self.add_examples, like=False),
            "example_file": self.add_file,
            "no_examples": partial(examples.clear, context),
            "new_concept": self.name_requested.emit,
            "concept_with": partial(self.mark, has=True),
            "concept_without": partial(self.mark, has=False),
            "concept_unmark": partial(self.mark, has=None),
            "undo_concept": concepts.undo,
        }

    def add_examples(self, *, like: bool) -> None:
        """Add the selected cases as positive or negative examples."""
        examples.add_cases(self._context, self._selected_cases(), like=like)

    def add_file(self) -> None:
        """Add an image that is not in the library as a positive example."""
        title = tr("Add an image as example")
        if chosen := choose_file(self._parent, title, search_operations.FILE_FILTER):
            examples.add_file(self._context, chosen, like=True)

    def mark(self, *, has: bool | None) -> None:
        """Mark the selected cases for the selected concept."""
        current = self._concepts.current
        cases = self._context.state.columns.ids_of_rows(self._selected_cases())
        if current is not None and cases:
            self._concepts.mark(current.id, cases, has)
            self._context.messages.info(_mark_message(cases, current.name, has))

    def fill_menu(self, menu: QMenu, case_row: int) -> None:
        """Add the entries for the case of the menu and the cases selected with it."""
        rows = self._selected_cases()
        rows = rows if case_row in rows else np.array([case_row], dtype=np.int64)
        if self._context.state.search is not None:
            menu.addSeparator()
            add = partial(examples.add_cases, self._context, rows)
            menu.addAction(tr("Add as positive example\tE"), partial(add, like=True))
            menu.addAction(tr("Add as negative example\tShift+E"), partial(add, like=False))
        if not self._context.state.can_write or self._context.state.metric is None:
            return
        current = self._concepts.current
        case = self._context.state.columns.ids_of_rows(rows[:1])[0]
        concepts = menu.addMenu(tr("Concepts"))
        for one in self._concepts.facts:
            keys = ("\tY", "\tN") if one is current else ("", "")
            has = one.own.get(case)
            sub = concepts.addMenu(one.name.replace("&", "&&"))
            for text, value in (
                (tr("With it") + keys[0], True),
                (tr("Without it") + keys[1], False),
                (tr("Remove mark"), None),
            ):
                action = sub.addAction(text, partial(self._mark, one.id, rows, value))
                action.setCheckable(True)
                action.setChecked(has is value)
        concepts.addSeparator()
        concepts.addAction(tr("New concept…"), self.name_requested.emit)

    def _mark(self, concept: int, rows: Rows, has: bool | None) -> None:
        self._concepts.mark(concept, self._context.state.columns.ids_of_rows(rows), has)


def _mark_message(cases: Sequence[str], concept: str, has: bool | None) -> str:
    """The message after marking ``cases``."""
    values = {"cases": cases[0] if len(cases) == 1 else tr("{n} cases", n=len(cases)), "concept": concept}
    if has is None:
        return tr("{cases}: neither with nor without {concept}.", **values)
    return tr("{cases}: with {concept}.", **values) if has else tr("{cases}: without {concept}.", **values)
