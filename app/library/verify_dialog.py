"""The result of verifying the library, with a button that repairs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QPushButton,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_layout, resize_dialog
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.tables import PlainTable
from semblance.core.csv_cells import csv_text
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.workflows.maintenance.problems import Problem, VerificationResult

_COLUMNS = (tr("Part"), tr("Found"), tr("What to do"))
_WIDTHS = (100, 360)


class VerifyDialog(Dialog):
    """A table of problems, each with its remedy or what was repaired."""

    repair_requested = Signal()

    def __init__(self, save: Callable[[Path, str], object], parent: QWidget | None = None) -> None:
        """``save`` is called with the chosen file and the list as CSV text."""
        super().__init__(parent)
        self._save_text = save
        self._result: VerificationResult | None = None
        self.setWindowTitle(tr("Verify library"))
        resize_dialog(self, 860, 440)
        self._summary = WrappedLabel(tr("Verifying…"))
        self.table = PlainTable(_COLUMNS, tr("Findings"))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme().px(width))
        self._usable = WrappedLabel(role="second")
        self.repair_button = QPushButton(tr("Repair"))
        self.repair_button.clicked.connect(self._request_repair)
        self.save_list = QPushButton(tr("Save list…"))
        self.save_list.clicked.connect(self._save)
        layout = dialog_layout(self)
        layout.addWidget(self._summary)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._usable)
        layout.addLayout(closing_row(self, self.repair_button, self.save_list))
        self._enable(writable=False)

    def show_result(self, result: VerificationResult, *, writable: bool) -> None:
        """Show the result of a verification or repair. *Repair* needs a ``writable`` library."""
        self._result = result
        damaged = len(result.unrepaired_problems)
        if damaged:
            summary = tr_n("{n} thing is damaged or missing.", "{n} things are damaged or missing.", damaged)
        elif result.findings:
            summary = tr("No data is lost. The list says what to do.")
        else:
            summary = tr("No problems were found.")
        moved = (
            " " + tr("Damaged files are stored in {folder}.", folder=result.moved_to)
            if result.moved_to
            else ""
        )
        self._summary.setText(f"{summary} {tr('Checked: {what}.', what=translate(result.counted))}{moved}")
        self._usable.setText(tr("Can be used: {what}", what=" ".join(map(translate, result.works))))
        top_left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        self.table.fill([_cells(problem) for problem in result.findings], top_left)
        self.table.resizeRowsToContents()
        self._enable(writable=writable)

    def fail(self) -> None:
        """Show that the library could not be verified. The message bar says why."""
        self._summary.setText(tr("The library could not be verified."))
        self._enable(writable=False)

    def _enable(self, *, writable: bool) -> None:
        problems = self._result.findings if self._result is not None else []
        self.repair_button.setEnabled(writable and any(not problem.repaired for problem in problems))
        self.save_list.setEnabled(bool(problems))

    def _request_repair(self) -> None:
        self._summary.setText(tr("Repairing…"))
        self.repair_button.setEnabled(False)
        self.repair_requested.emit()

    def _save(self) -> None:
        file, _ = choose_target(self, tr("Save list"), "check.csv", f"{tr('Table')} (*.csv)")
        if file and self._result is not None:
            rows = [(*_cells(problem), " ".join(problem.files)) for problem in self._result.findings]
            self._save_text(file, csv_text((*_COLUMNS, tr("Files")), rows))


def _cells(problem: Problem) -> tuple[str, str, str]:
    return (
        tr_name(problem.part),
        translate(problem.says),
        tr("Done: {what}", what=problem.repaired) if problem.repaired else translate(problem.remedy),
    )
