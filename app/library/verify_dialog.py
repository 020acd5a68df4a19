"""What a check of the library found, what still works, and mending it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QPushButton,
    QWidget,
)

from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import closing_row, column_of, give_size
from semblance.app.widgets.plain_table import PlainTable
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.reports.csv_table import csv_text
from semblance.core.workflows.maintenance.problems import Problem, VerificationResult

_COLUMNS = (tr("Part"), tr("Found"), tr("What to do"))
_WIDTHS = (100, 360)


class VerifyDialog(Dialog):
    """A table of findings, each with what can be done or was done about it."""

    repair_requested = Signal()

    def __init__(self, save: Callable[[Path, str], object], parent: QWidget | None = None) -> None:
        """``save`` is given the file that was chosen for the list, and the list as CSV text."""
        super().__init__(parent)
        self._keep = save
        self._result: VerificationResult | None = None
        self.setWindowTitle(tr("Verify library"))
        give_size(self, 860, 440)
        self._told = WrappedLabel(tr("Verifying…"))
        self.table = PlainTable(_COLUMNS, tr("Findings"))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme().px(width))
        self._works = WrappedLabel(role="second")
        self.repair = QPushButton(tr("Repair"))
        self.repair.clicked.connect(self._ask_repair)
        self.save_list = QPushButton(tr("Save list…"))
        self.save_list.clicked.connect(self._save)
        column_ = column_of(self)
        column_.addWidget(self._told)
        column_.addWidget(self.table, 1)
        column_.addWidget(self._works)
        column_.addLayout(closing_row(self, self.repair, self.save_list))
        self._enable(writable=False)

    def show_result(self, result: VerificationResult, *, writable: bool) -> None:
        """What a check or a repair gave; without ``writable`` nothing can be mended."""
        self._result = result
        harm = len(result.open_harm)
        if harm:
            told = tr_n("{n} thing is damaged or missing.", "{n} things are damaged or missing.", harm)
        elif result.findings:
            told = tr("No data is lost. Please note:")
        else:
            told = tr("No problems were found.")
        aside = (
            " " + tr("Damaged files are stored in {folder}.", folder=result.moved_to)
            if result.moved_to
            else ""
        )
        self._told.setText(f"{told} {tr('Checked: {what}.', what=translate(result.counted))}{aside}")
        self._works.setText(tr("Can be used: {what}", what=" ".join(map(translate, result.works))))
        top_left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        self.table.fill([_cells(finding) for finding in result.findings], top_left)
        self.table.resizeRowsToContents()
        self._enable(writable=writable)

    def fail(self) -> None:
        """The check could not be made; the message bar says why."""
        self._told.setText(tr("The library could not be verified."))
        self._enable(writable=False)

    def _enable(self, *, writable: bool) -> None:
        findings = self._result.findings if self._result is not None else []
        self.repair.setEnabled(writable and any(not finding.repaired for finding in findings))
        self.save_list.setEnabled(bool(findings))

    def _ask_repair(self) -> None:
        self._told.setText(tr("Repairing…"))
        self.repair.setEnabled(False)
        self.repair_requested.emit()

    def _save(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self, tr("Save list"), "check.csv", f"{tr('Table')} (*.csv)")
        if chosen and self._result is not None:
            lines = [(*_cells(finding), " ".join(finding.files)) for finding in self._result.findings]
            self._keep(Path(chosen), csv_text((*_COLUMNS, tr("Files")), lines))


def _cells(finding: Problem) -> tuple[str, str, str]:
    return (
        tr_name(finding.part),
        translate(finding.says),
        tr("Done: {what}", what=finding.repaired) if finding.repaired else translate(finding.remedy),
    )
