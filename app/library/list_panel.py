"""What the lists of a library share: a line above a table of texts, which may be saved as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.tables import PlainTable
from semblance.core.csv_cells import csv_text
from semblance.core.language import tr


class ListPanel(Panel):
    """A subclass declares the columns with the px of the first ones and what the list is
    of; it ends with :meth:`complete`, and overrides :meth:`list_to_save` if its list can be saved."""

    columns: ClassVar[tuple[str, ...]]
    widths: ClassVar[tuple[int, ...]]
    list_name: ClassVar[str]

    def __init__(self, save: Callable[[Path, str], object] | None = None) -> None:
        """``save`` is called with the chosen file and the list as CSV text."""
        super().__init__(self.list_name)
        self._write = save
        self.summary = WrappedLabel()
        self.table = PlainTable(self.columns, self.list_name)
        for column, width in enumerate(self.widths):
            self.table.setColumnWidth(column, theme().px(width))
        self.save_button = dialog_button(tr("Save list…"), self.save)
        if save is None:
            self.save_button.hide()

    def complete(
        self,
        *buttons: QPushButton,
        beside_summary: Sequence[QWidget] = (),
        below: Sequence[QWidget] = (),
    ) -> None:
        """Lay out the summary with ``buttons`` beside it, the table, and widgets ``below`` it."""
        layout = vbox(self, spacing=8, margins=(12, 8, 12, 8))
        row = hbox(spacing=8)
        row.addWidget(self.summary, 1)
        for widget in (*beside_summary, *buttons, self.save_button):
            row.addWidget(widget)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        for widget in below:
            layout.addWidget(widget)

    def list_to_save(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """The proposed name of the file, the titles of its columns, and its rows."""
        raise NotImplementedError

    def save(self) -> None:
        """Choose a file and save the list in it."""
        name, titles, rows = self.list_to_save()
        file, _ = choose_target(self, tr("Save list"), name, f"{tr('Table')} (*.csv)")
        if file and self._write is not None:
            self._write(file, csv_text(titles, rows))
