"""A table of the bins of a calibration. Clicking a bin shows its cases."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.core.evaluation.calibration import Bin
from semblance.core.language import format_number, localise_number, tr
from semblance.core.reports.curves import interval_text

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

    def set_bins(self, bins: tuple[Bin, ...]) -> None:
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
