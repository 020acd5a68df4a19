"""A read-only table of texts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHeaderView, QTableWidget, QTableWidgetItem

from semblance.app.shell.theme import plain_tip
from semblance.core.csv_cells import csv_line, safe_text
from semblance.core.language import translate


class PlainTable(QTableWidget):
    """Columns of texts, of which the last fills the width. Tooltips show the whole texts."""

    def __init__(self, columns: Sequence[str], name: str) -> None:
        """``name``: the accessible name."""
        super().__init__(0, len(columns))
        self.setAccessibleName(name)
        self.setHorizontalHeaderLabels(list(columns))
        self.verticalHeader().hide()
        self.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.setWordWrap(True)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(len(columns) - 1, QHeaderView.ResizeMode.Stretch)

    def fill(
        self,
        rows: Sequence[Sequence[str]],
        alignment: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
    ) -> None:
        """Show these rows."""
        self.setRowCount(len(rows))
        for row, cells in enumerate(rows):
            for place, text in enumerate(map(translate, cells)):
                item = QTableWidgetItem(text)
                item.setToolTip(plain_tip(text))
                item.setTextAlignment(alignment)
                self.setItem(row, place, item)

    def copy(self) -> None:
        """Copy the selected rows, or all, to the clipboard: one line each, cells separated by tabs."""
        chosen = sorted({index.row() for index in self.selectionModel().selectedRows()})
        cells = [
            [self.item(row, place) for place in range(self.columnCount())]
            for row in chosen or range(self.rowCount())
        ]
        texts = [["" if item is None else item.text() for item in row] for row in cells]
        lines = [csv_line(map(safe_text, row), "\t") for row in texts]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            # Qt would copy only the current cell.
            self.copy()
        else:
            super().keyPressEvent(event)
