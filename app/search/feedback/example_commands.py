"""Commands and menu entries that make examples and marks of the cases at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from semblance.app.search.feedback import examples
from semblance.app.shell import search_operations
from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow


class ExampleCommands(QObject):
    """Of one window. What is at hand is chosen in the ranking or the library, or is the case compared."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._context, self._concepts = window, window.context, window.concepts
        self.runs: dict[str, Callable[[], object]] = {
            "example_like": lambda: examples.add_cases(self._context, self.at_hand(), like=True),
            "example_unlike": lambda: examples.add_cases(self._context, self.at_hand(), like=False),
            "example_file": self.add_file,
            "no_examples": lambda: examples.clear(self._context),
            "new_concept": self.new_concept,
            "concept_with": lambda: self.mark(has=True),
            "concept_without": lambda: self.mark(has=False),
            "concept_unmark": lambda: self.mark(has=None),
            "undo_concept": self._concepts.undo,
        }

    def at_hand(self) -> list[int]:
        """Catalogue rows of the cases that are chosen where the keyboard is."""
        window, focus = self._window, QApplication.focusWidget()
        columns = self._context.state.columns
        if window.full.comparing:
            index = columns.index_of_id(window.compare.current_case() or "")
            return [int(columns.case_row[index])] if index >= 0 else []
        in_library = focus is not None and window.library.isAncestorOf(focus)
        grid = window.library.grid if in_library else window.ranking.grid
        return [row for row in grid.selected() if columns.index_of_row(row) >= 0]

    def add_file(self) -> None:
        """An image from outside, as a positive example."""
        chosen, _ = QFileDialog.getOpenFileName(
            self._window, tr("An image as an example"), "", search_operations.FILES
        )
        if chosen:
            examples.add_file(self._context, Path(chosen), like=True)

    def new_concept(self) -> None:
        """Ask for its name in the Refine panel."""
        self._window.show_side("refine")
        self._window.side.concepts.ask_name()

    def mark(self, *, has: bool | None) -> None:
        """Mark the cases at hand for the concept that is chosen."""
        current = self._concepts.current
        cases = self._ids(self.at_hand())
        if current is not None and cases:
            self._concepts.mark(current.id, cases, has)
            self._context.messages.info(_marked(cases, current.name, has))

    def fill_menu(self, menu: QMenu, case_row: int) -> None:
        """Entries for the case the menu is of, and the others chosen with it."""
        rows = self.at_hand()
        rows = rows if case_row in rows else [case_row]
        if self._context.state.search is not None:
            menu.addSeparator()
            add = partial(examples.add_cases, self._context, rows)
            menu.addAction(tr("A positive example\tE"), partial(add, like=True))
            menu.addAction(tr("A negative example\tShift+E"), partial(add, like=False))
        writable = self._context.state.library is not None and self._context.state.library.writable
        if not writable or self._context.state.metric is None:
            return
        cases, current = self._ids(rows), self._concepts.current
        concepts = menu.addMenu(tr("Concepts"))
        for one in self._concepts.facts:
            keys = ("\tY", "\tN") if one is current else ("", "")
            has = True if cases[0] in one.with_ else False if cases[0] in one.without else None
            sub = concepts.addMenu(one.name.replace("&", "&&"))
            for text, value in (
                (tr("With it") + keys[0], True),
                (tr("Without it") + keys[1], False),
                (tr("Nothing said"), None),
            ):
                action = sub.addAction(text, partial(self._concepts.mark, one.id, cases, value))
                action.setCheckable(True)
                action.setChecked(has is value)
        concepts.addSeparator()
        concepts.addAction(tr("New concept…"), self.new_concept)

    def _ids(self, rows: Sequence[int]) -> list[str]:
        columns = self._context.state.columns
        return [columns.ids[index] for row in rows if (index := columns.index_of_row(row)) >= 0]


def _marked(cases: Sequence[str], concept: str, has: bool | None) -> str:
    """What is said of ``cases`` from now on."""
    told = {"cases": cases[0] if len(cases) == 1 else tr("{n} cases", n=len(cases)), "concept": concept}
    if has is None:
        return tr("{cases}: neither with nor without {concept}.", **told)
    return tr("{cases}: with {concept}.", **told) if has else tr("{cases}: without {concept}.", **told)
