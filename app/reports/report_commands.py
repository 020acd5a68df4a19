"""What the window's commands on reports do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtWidgets import QDialog, QFileDialog

from semblance.app.reports import report_operations
from semblance.app.reports.report_dialog import ReportDialog, queries_of
from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow


def write(window: MainWindow) -> None:
    """Ask what of, in which form and where to, and write it."""
    state, query = window.state, window.state.query
    if query is None or state.metric is None:
        return
    ids, shown = state.columns.ids, window.library.grid.deck()
    held_out = np.flatnonzero(~np.isin(state.columns.case_row, state.metric.training))
    dialog = ReportDialog(
        queries_of(
            query.case or (query.image.name if query.image else ""),
            [ids[shown.index(place)] for place in range(len(shown))],
            [ids[place] for place in held_out.tolist()],
        ),
        window.context.settings,
        window,
    )
    if dialog.exec() == QDialog.DialogCode.Accepted:
        if cases := dialog.cases():
            report_operations.write_reports(
                window.context, dialog.target, cases, dialog.form(), dialog.options
            )
        else:
            report_operations.write_report(window.context, dialog.target, dialog.options)
    dialog.deleteLater()


def reopen(window: MainWindow) -> None:
    """A JSON report becomes the search it was made of."""
    chosen, _ = QFileDialog.getOpenFileName(window, tr("Open a report"), "", tr("JSON report (*.json)"))
    if chosen:
        report_operations.reopen(window.context, Path(chosen))
