"""A list of the files that could not be read, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.theme import set_look
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_layout, resize_dialog
from semblance.app.widgets.tables import PlainTable
from semblance.core.csv_cells import csv_text
from semblance.core.language import tr, tr_n, tr_name
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot

_COLUMNS = (tr("File"), tr("State"), tr("Reason"))


class UnreadableFilesDialog(Dialog):
    """A table of (file, state, reason). A check box adds the ignored files. The list can be saved as CSV."""

    def __init__(
        self, library: LibrarySnapshot, save: Callable[[Path, str], object], parent: QWidget | None = None
    ) -> None:
        """``save`` is called with the chosen file and the list as CSV text."""
        super().__init__(parent)
        self._library, self._save_text = library, save
        self.setWindowTitle(tr("Files that could not be read"))
        resize_dialog(self, 760, 420)
        self._count = QLabel()
        set_look(self._count, role="second")
        self._show_ignored = QCheckBox(tr("Show ignored files too"))
        self._show_ignored.toggled.connect(self._fill)
        self.table = PlainTable(_COLUMNS, tr("Files that could not be read"))
        self.table.setColumnWidth(0, 320)
        save_list = QPushButton(tr("Save list…"))
        save_list.clicked.connect(self._save)
        header = QHBoxLayout()
        header.addWidget(self._count, 1)
        header.addWidget(self._show_ignored)
        column = dialog_layout(self)
        column.addLayout(header)
        column.addWidget(self.table, 1)
        column.addLayout(closing_row(self, save_list))
        self._fill()

    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of the table: file, state and reason."""
        files = (
            self._library.files_without_cases
            if self._show_ignored.isChecked()
            else self._library.unusable_files
        )
        return [
            (f"{source}/{path}" if path else source, state, reason) for source, path, state, reason in files
        ]

    def _fill(self) -> None:
        rows = self.rows()
        self._count.setText(
            tr_n("{n} file", "{n} files", len(rows)) if rows else tr("Every file could be read.")
        )
        self.table.fill([(path, state, tr_name(reason)) for path, state, reason in rows])

    def _save(self) -> None:
        file, _ = choose_target(
            self,
            tr("Save list"),
            tr("{library} unreadable files", library=self._library.name) + ".csv",
            f"{tr('Table')} (*.csv)",
        )
        if file:
            self._save_text(file, csv_text(_COLUMNS, self.rows()))
