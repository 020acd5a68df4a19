"""What the window's commands on a metric's card and its file do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from semblance.app.metrics import metric_exchange
from semblance.app.metrics.card_dialog import MetricCardDialog
from semblance.core.language import tr
from semblance.core.workflows.metrics.metric_exchange import SUFFIX

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

_FILES = tr("Metric (*{ending})", ending=SUFFIX)


def show_card(window: MainWindow) -> None:
    """What is known of the metric in use, beside another's if wanted."""
    state = window.state
    if state.metric is None or state.library is None:
        return

    def save(name: str, path: Path) -> None:
        metric_exchange.write_card(window.context, name, path)

    dialog = MetricCardDialog(state.metric, state.library.metrics, save, window)
    dialog.exec()
    dialog.deleteLater()


def export(window: MainWindow) -> None:
    """Ask where to, and write the metric in use to one file."""
    metric = window.state.metric
    if metric is None:
        return
    chosen, _ = QFileDialog.getSaveFileName(window, tr("Export the metric"), f"{metric.name}{SUFFIX}", _FILES)
    if chosen:
        path = Path(chosen)
        path = path if path.suffix == SUFFIX else path.with_name(f"{path.name}{SUFFIX}")
        metric_exchange.export_metric(window.context, metric.name, path)


def bring_in(window: MainWindow) -> None:
    """Ask for a metric's file and bring it into the open library."""
    chosen, _ = QFileDialog.getOpenFileName(
        window, tr("Bring in a metric"), "", f"{_FILES};;{tr('All files (*)')}"
    )
    if chosen:
        metric_exchange.import_metric(window.context, Path(chosen))
