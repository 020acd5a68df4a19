"""What the lists of a library share: a line above a table of texts, which may be saved as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_button, dialog_layout, resize_dialog
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.tables import PlainTable
from semblance.core.csv_cells import csv_text
from semblance.core.language import tr


class ListDialog(Dialog):
    """A subclass declares the title, the size in px, the columns with the px of the first ones and what the list is
    of; it ends with :meth:`complete`, and overrides :meth:`list_to_save` if its list can be saved."""

    title: ClassVar[str]
    size_px: ClassVar[tuple[int, int]]
    columns: ClassVar[tuple[str, ...]]
    widths: ClassVar[tuple[int, ...]]
    list_name: ClassVar[str]

    def __init__(
        self, parent: QWidget | None = None, save: Callable[[Path, str], object] | None = None
    ) -> None:
        """``save`` is called with the chosen file and the list as CSV text."""
        super().__init__(parent)
        self._write = save
        self.setWindowTitle(self.title)
        resize_dialog(self, *self.size_px)
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
        """Lay out the summary, the table, widgets ``below`` it, and the row with ``buttons`` and Close."""
        layout = dialog_layout(self)
        row = hbox(spacing=8)
        row.addWidget(self.summary, 1)
        for widget in beside_summary:
            row.addWidget(widget)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        for widget in below:
            layout.addWidget(widget)
        layout.addLayout(closing_row(self, *buttons, self.save_button))

    def list_to_save(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """The proposed name of the file, the titles of its columns, and its rows."""
        raise NotImplementedError

    def save(self) -> None:
        """Choose a file and save the list in it."""
        name, titles, rows = self.list_to_save()
        file, _ = choose_target(self, tr("Save list"), name, f"{tr('Table')} (*.csv)")
        if file and self._write is not None:
            self._write(file, csv_text(titles, rows))
