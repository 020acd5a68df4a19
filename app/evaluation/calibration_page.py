"""The Calibration tab: the reliability diagram on held-out cases and a table of its bins."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QHeaderView,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.evaluation.overview_page import PlotCell
from semblance.app.evaluation.score_table import not_tested
from semblance.app.shell.context import Context
from semblance.app.shell.measured_on import measured_note
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.plots.figure_view import FigureView
from semblance.core.evaluation.calibration import CalibrationBin
from semblance.core.language import format_number, localise_number, tr
from semblance.core.reports.curves import CALIBRATION, interval_text
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
        self._content = fill(hbox(content, spacing=8, margins=(0, 0, 8, 0)), (self.plot, 3), (self.bins, 2))
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


ROW_HEIGHT = 24
_TITLES = (tr("estimate"), tr("cases"), tr("mean"), tr("observed"))
_TIPS = (
    tr("Held-out cases with such an estimate"),
    tr("How many there are"),
    tr("Their mean estimate"),
    tr("The share that had the finding, with its 95 % interval"),
)


class BinTable(QTableWidget):
    """``chosen(number)`` is emitted when a bin is clicked or Enter is pressed on it."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(_TITLES), parent)
        self.setAccessibleName(tr("Bins of held-out cases by their estimate. Press Enter to show the cases"))
        for column, tip in enumerate(_TIPS):
            item = QTableWidgetItem(_TITLES[column])
            item.setTextAlignment(_alignment(column))
            item.setToolTip(tip)
            self.setHorizontalHeaderItem(column, item)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(len(_TITLES) - 1, QHeaderView.ResizeMode.ResizeToContents)
        self.cellClicked.connect(lambda row, _column: self.chosen.emit(row))
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_bins(self, bins: tuple[CalibrationBin, ...]) -> None:
        self.setRowCount(len(bins))
        for row, calibration_bin in enumerate(bins):
            cells = (
                localise_number(f"{calibration_bin.low:.1f}–{calibration_bin.high:.1f}"),
                format_number(calibration_bin.n, ","),
                format_number(calibration_bin.predicted, ".2f"),
                interval_text(calibration_bin.observed, *calibration_bin.interval),
            )
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(_alignment(column))
                item.setToolTip(tr("Click to see these cases in the library"))
                self.setItem(row, column, item)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        # Qt selects no row until an arrow key is pressed, but Enter acts on the current row.
        if event.reason() != Qt.FocusReason.MouseFocusReason and not self.selectedIndexes():
            self.selectRow(max(0, self.currentRow()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentRow() >= 0:
            self.chosen.emit(self.currentRow())
        else:
            super().keyPressEvent(event)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW_HEIGHT))


def _alignment(column: int) -> Qt.AlignmentFlag:
    horizontal = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return horizontal | Qt.AlignmentFlag.AlignVCenter
