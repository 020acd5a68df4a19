"""Commands to create a report, and to open a report as a search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from semblance.app.reports import report_operations
from semblance.app.reports.report_dialog import ReportDialog, query_selections
from semblance.app.shell.context import Context
from semblance.core.language import tr


class ReportCommands(QObject):
    """Commands that open dialogs. ``parent`` is their parent. ``shown_case_ids()`` returns the ids of the cases in
    the library's list."""

    def __init__(self, context: Context, parent: QWidget, shown_case_ids: Callable[[], list[str]]) -> None:
        super().__init__(parent)
        self._context, self._parent = context, parent
        self._shown_case_ids = shown_case_ids
        self.commands: dict[str, Callable[[], object]] = {
            "report": self.create_report,
            "open_report": self.open_report,
        }

    def create_report(self) -> None:
        """Choose queries, format and file, and create the report."""
        state, query = self._context.state, self._context.state.query
        if query is None or state.metric is None:
            return
        columns = state.columns
        ids, index = columns.ids, columns.index_of_id(query.case) if query.case else -1
        image_name = query.image.name if query.image else ""
        held_out = np.flatnonzero(~np.isin(state.columns.case_row, state.metric.training))
        dialog = ReportDialog(
            query_selections(
                columns.name(index) if index >= 0 else query.case or image_name,
                self._shown_case_ids(),
                [ids[index] for index in held_out.tolist()],
            ),
            self._context.settings,
            self._parent,
        )
        if dialog.exec() == QDialog.DialogCode.Accepted:
            if cases := dialog.cases():
                report_operations.write_reports(
                    self._context, dialog.target, cases, dialog.file_suffix(), dialog.options
                )
            else:
                report_operations.write_report(self._context, dialog.target, dialog.options)
        dialog.deleteLater()

    def open_report(self) -> None:
        """Choose a JSON report and open its search."""
        file, _ = QFileDialog.getOpenFileName(
            self._parent, tr("Open a report"), "", tr("Report (*.json *.dcm)")
        )
        if file:
            report_operations.reopen_search(self._context, Path(file))
