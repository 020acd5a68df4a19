"""The Calibration tab: the reliability diagram on held-out cases and a table of its bins."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QStackedWidget, QWidget

from semblance.app.evaluation.bin_table import BinTable
from semblance.app.evaluation.overview_page import PlotCell
from semblance.app.evaluation.score_table import not_tested
from semblance.app.shell.context import Context
from semblance.app.shell.measured_on import measured_note
from semblance.app.shell.theme import theme
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.plots.figure_view import FigureView
from semblance.core.language import tr
from semblance.core.reports.curves import CALIBRATION
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.evaluation.scored_metrics import ScoredMetric

TITLE = tr("Calibration of the estimate")
#: Below this width in px at text scale 1 the table of bins stands below the diagram.
BESIDE_MIN_WIDTH = 560


class CalibrationPage(QWidget):
    """The reliability diagram of the current metric beside its bins."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._state = context.state
        self._metric: ScoredMetric | None = None
        self.plot = PlotCell(TITLE, FigureView(context, CALIBRATION))
        self.bins = BinTable()
        self.bins.chosen.connect(self._show_cases_of_bin)
        self._empty = EmptyState()
        content = QWidget()
        self._content = hbox(content, spacing=8, margins=(0, 0, 8, 0))
        self._content.addWidget(self.plot, 3)
        self._content.addWidget(self.bins, 2)
        self._pages = QStackedWidget()
        self._pages.addWidget(content)
        self._pages.addWidget(self._empty)
        vbox(self).addWidget(self._pages)
        self.show_metric((), None)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= theme().px(BESIDE_MIN_WIDTH)
        direction = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        self._content.setDirection(direction)

    def show_metric(self, metrics: tuple[ScoredMetric, ...], metric: ScoredMetric | None) -> None:
        """Show the calibration of ``metric``, which is one of ``metrics``."""
        self._metric = metric
        calibration = None if metric is None else metric.calibration
        if metric is None or calibration is None:
            self.plot.view.set_curves(())
            self._pages.setCurrentIndex(1)
            self._empty.show_message(tr("Not calibrated"), _missing_reason(metric))
            return
        note = measured_note(calibration.n_cases, calibration.measured_on, stale=metric.stale)
        curves = scored_metrics.calibration_curves(metrics, metric.name)
        self.plot.view.set_curves(curves, title=TITLE, note=note)
        self.plot.set_badge(metric.measured)
        self.bins.set_bins(calibration.bins)
        self._pages.setCurrentIndex(0)

    def _show_cases_of_bin(self, number: int) -> None:
        calibration = None if self._metric is None else self._metric.calibration
        if calibration is None:
            return
        self._state.set_selected_rows(np.array(calibration.rows_of_bin(number), dtype=np.int64))


def _missing_reason(metric: ScoredMetric | None) -> str:
    if metric is None:
        return tr("Train a metric. Its estimate is calibrated on held-out cases.")
    if metric.scores is None:
        return not_tested(metric)
    return tr("Too few cases with a finding were held out. At least 20 are needed.")
