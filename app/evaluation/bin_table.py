"""The bins of a calibration as a table: choosing one shows its cases."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.core.evaluation.reliability import Bin
from semblance.core.language import format_number, localise_number, tr
from semblance.core.reports.curves import interval_text

ROW = 24
_HEADS = (tr("estimate"), tr("cases"), tr("mean"), tr("observed"))
_TIPS = (
    tr("Held-out cases with such an estimate"),
    tr("How many there are"),
    tr("Their mean estimate"),
    tr("The share that had the finding, with its 95 % interval"),
)


class BinTable(QTableWidget):
    """``chosen(number)`` when a bin is clicked, or Enter pressed on it."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(_HEADS), parent)
        self.setAccessibleName(tr("Bins of held-out cases by their estimate. Press Enter to show the cases"))
        for column, tip in enumerate(_TIPS):
            item = QTableWidgetItem(_HEADS[column])
            item.setTextAlignment(_side(column))
            item.setToolTip(tip)
            self.setHorizontalHeaderItem(column, item)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.cellClicked.connect(lambda row, _column: self.chosen.emit(row))
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_bins(self, bins: tuple[Bin, ...]) -> None:
        self.setRowCount(len(bins))
        for row, one in enumerate(bins):
            cells = (
                localise_number(f"{one.low:.1f}–{one.high:.1f}"),
                format_number(one.n, ","),
                format_number(one.predicted, ".2f"),
                interval_text(one.observed, *one.interval),
            )
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(_side(column))
                item.setToolTip(tr("Click to see these cases in the library"))
                self.setItem(row, column, item)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        # The row that Enter speaks of is seen, which Qt leaves out until an arrow is pressed.
        if event.reason() != Qt.FocusReason.MouseFocusReason and not self.selectedIndexes():
            self.selectRow(max(0, self.currentRow()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentRow() >= 0:
            self.chosen.emit(self.currentRow())
        else:
            super().keyPressEvent(event)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW))


def _side(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
