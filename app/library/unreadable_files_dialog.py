"""The files that gave no case, each with its reason; the list can be saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QWidget,
)

from semblance.app.shell.theme import set_look
from semblance.app.widgets.dialog import closing_row, column_of, give_size
from semblance.app.widgets.plain_table import PlainTable
from semblance.app.widgets.tab_order import Dialog
from semblance.core.language import tr, tr_n, tr_name
from semblance.core.reports.csv_table import csv_text
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot

_COLUMNS = (tr("File"), tr("State"), tr("Reason"))


class UnreadableFilesDialog(Dialog):
    """A table of (file, state, reason); ignored files are shown on request."""

    def __init__(
        self, library: LibrarySnapshot, save: Callable[[Path, str], object], parent: QWidget | None = None
    ) -> None:
        """``save`` is given the file that was chosen for the list, and the list as CSV text."""
        super().__init__(parent)
        self._library, self._keep = library, save
        self.setWindowTitle(tr("Files that could not be read"))
        give_size(self, 760, 420)
        self._told = QLabel()
        set_look(self._told, role="second")
        self._ignored = QCheckBox(tr("Show ignored files too"))
        self._ignored.toggled.connect(self._fill)
        self.table = PlainTable(_COLUMNS, tr("Files that could not be read"))
        self.table.setColumnWidth(0, 320)
        save_list = QPushButton(tr("Save list…"))
        save_list.clicked.connect(self._save)
        head = QHBoxLayout()
        head.addWidget(self._told, 1)
        head.addWidget(self._ignored)
        column = column_of(self)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        column.addLayout(closing_row(self, save_list))
        self._fill()

    def lines(self) -> list[tuple[str, str, str]]:
        """What the table shows."""
        every = self._library.not_read if self._ignored.isChecked() else self._library.unusable
        return [
            (f"{source}/{path}" if path else source, state, reason) for source, path, state, reason in every
        ]

    def _fill(self) -> None:
        lines = self.lines()
        self._told.setText(
            tr_n("{n} file", "{n} files", len(lines)) if lines else tr("Every file could be read.")
        )
        self.table.fill([(where, state, tr_name(reason)) for where, state, reason in lines])

    def _save(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(
            self,
            tr("Save list"),
            tr("{library} unreadable files", library=self._library.name) + ".csv",
            f"{tr('Table')} (*.csv)",
        )
        if chosen:
            self._keep(Path(chosen), csv_text(_COLUMNS, self.lines()))
