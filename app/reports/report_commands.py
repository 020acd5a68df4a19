"""The commands on reports: write one, open one as a search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from semblance.app.reports import report_operations
from semblance.app.reports.report_dialog import ReportDialog, queries_of
from semblance.app.shell.context import Context
from semblance.core.language import tr


class ReportCommands(QObject):
    """Asks in dialogs of ``parent``; ``cases_shown`` gives the ids of the cases the library lists."""

    def __init__(self, context: Context, parent: QWidget, cases_shown: Callable[[], list[str]]) -> None:
        super().__init__(parent)
        self._context, self._parent = context, parent
        self._cases_shown = cases_shown
        self.commands: dict[str, Callable[[], object]] = {
            "report": self.write,
            "open_report": self.reopen,
        }

    def write(self) -> None:
        """Ask what of, in which form and where to, and write it."""
        state, query = self._context.state, self._context.state.query
        if query is None or state.metric is None:
            return
        ids = state.columns.ids
        held_out = np.flatnonzero(~np.isin(state.columns.case_row, state.metric.training))
        dialog = ReportDialog(
            queries_of(
                query.case or (query.image.name if query.image else ""),
                self._cases_shown(),
                [ids[place] for place in held_out.tolist()],
            ),
            self._context.settings,
            self._parent,
        )
        if dialog.exec() == QDialog.DialogCode.Accepted:
            if cases := dialog.cases():
                report_operations.write_reports(
                    self._context, dialog.target, cases, dialog.form(), dialog.options
                )
            else:
                report_operations.write_report(self._context, dialog.target, dialog.options)
        dialog.deleteLater()

    def reopen(self) -> None:
        """A JSON report becomes the search it was made of."""
        chosen, _ = QFileDialog.getOpenFileName(
            self._parent, tr("Open a report"), "", tr("JSON report (*.json)")
        )
        if chosen:
            report_operations.reopen(self._context, Path(chosen))
