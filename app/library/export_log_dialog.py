"""The export log: what was exported from the library, when, by whom, and whether patients are identifiable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.local_time import local_time
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_layout, resize_dialog
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.tables import PlainTable
from semblance.core.csv_cells import csv_text
from semblance.core.language import tr, tr_n

_COLUMNS = (tr("When"), tr("By"), tr("What"), tr("Kind of file"), tr("Files"), tr("Patients"))
_WIDTHS = (150, 100, 150, 150, 60)


class ExportLogDialog(Dialog):
    """The log of exports, the newest first. Rows can be copied, and the list can be saved as CSV."""

    def __init__(
        self,
        exports: Sequence[Mapping[str, Any]],
        save: Callable[[Path, str], object],
        parent: QWidget | None = None,
    ) -> None:
        """``exports`` come from :func:`semblance.core.workflows.library.exports.list_exports`; ``save`` is called
        with the chosen file and the list as CSV text."""
        super().__init__(parent)
        self._save_text = save
        self._rows = [_cells(export) for export in reversed(exports)]
        self.setWindowTitle(tr("Export log"))
        resize_dialog(self, 760, 420)
        count = tr_n("{n} export", "{n} exports", len(exports))
        self._summary = WrappedLabel(
            tr("{exports}, newest first. File names are not logged.", exports=count)
            if exports
            else tr("Nothing has been exported from this library.")
        )
        self.table = PlainTable(_COLUMNS, tr("Export log"))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme().px(width))
        self.table.fill(self._rows)
        self.copy_button = QPushButton(tr("Copy"))
        self.copy_button.setToolTip(tr("Copy the selected rows, or all rows (Ctrl+C)"))
        self.copy_button.clicked.connect(self.table.copy)
        self.save_list = QPushButton(tr("Save list…"))
        self.save_list.clicked.connect(self._save)
        for button in (self.copy_button, self.save_list):
            button.setEnabled(bool(exports))
        layout = dialog_layout(self)
        layout.addWidget(self._summary)
        layout.addWidget(self.table, 1)
        layout.addLayout(closing_row(self, self.copy_button, self.save_list))

    def _save(self) -> None:
        file, _ = choose_target(self, tr("Save list"), "exports.csv", f"{tr('Table')} (*.csv)")
        if file:
            self._save_text(file, csv_text(_COLUMNS, self._rows))


def _cells(export: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        local_time(export["time"], seconds=True),
        export["by"],
        _EXPORT_NAMES.get(export["what"], export["what"]),
        export["kind"],
        str(export["files"]),
        tr("identifiable") if export["identified"] else tr("de-identified"),
    )


#: Kind of export in the log -> its name on screen.
_EXPORT_NAMES = {
    "backup": tr("Backup"),
    "damaged line": tr("Damaged line"),
    "experiment": tr("Experiment"),
    "list of a check": tr("List of a check"),
    "list of exports": tr("Export log"),
    "list of files not read": tr("List of files that could not be read"),
    "metric": tr("Metric"),
    "metric card": tr("Metric card"),
    "plots": tr("Plots"),
    "report": tr("Report"),
    "reports": tr("Reports"),
    "scores": tr("Scores"),
}
