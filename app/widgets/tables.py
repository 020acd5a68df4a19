"""Read-only tables, and lists of facts in two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHeaderView,
    QSizePolicy,
    QTableView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.labels import ElidedLabel
from semblance.core.csv_cells import csv_line, safe_text
from semblance.core.language import translate

NAMES = 88
#: Minimum px between a name and its value.
GAP = 8
ROW = 22


def make_read_only(table: QTableView) -> None:
    """Make ``table`` read-only, with single-line rows and without a grid."""
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)


def enter_rows(table: QTableView, enter: Callable[[int], object]) -> None:
    """Call ``enter`` with a row on a double click and on Enter. Esc is for the page around ``table``."""
    table.doubleClicked.connect(lambda index: enter(index.row()))
    table.installEventFilter(_RowKeys(table, enter))


class _RowKeys(QObject):
    def __init__(self, table: QTableView, enter: Callable[[int], object]) -> None:
        super().__init__(table)
        self._table, self._enter = table, enter

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        current = self._table.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and current.isValid():
            self._enter(current.row())
            return True
        if event.key() == Qt.Key.Key_Escape:
            event.ignore()
            return True
        return False


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


class FactList(QWidget):
    """Rows in the order of ``names``. A row without a value is hidden."""

    def __init__(self, names: tuple[str, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names: dict[str, ElidedLabel] = {}
        self._values: dict[str, QWidget] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        for row, name in enumerate(names):
            label = ElidedLabel(name, role="second")
            label.setVisible(False)
            self._names[name] = label
            self._grid.addWidget(label, row, 0)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_fact(self, name: str, value: str | None, tip: str = "") -> None:
        """Set the value of ``name``; ``None`` hides the row."""
        label = self._values.get(name)
        if not isinstance(label, ElidedLabel):
            label = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
            self.set_widget(name, label)
        label.setText(value or "")
        label.set_tip(tip)
        label.setAccessibleName(f"{name}: {label.text()}")
        self.show_fact(name, value is not None)

    def widget(self, name: str) -> QWidget | None:
        """What shows the value of ``name``, if there is one."""
        return self._values.get(name)

    def set_widget(self, name: str, widget: QWidget) -> None:
        """Show a widget as the value of ``name``."""
        old = self._values.pop(name, None)
        if old is not None:
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._values[name] = widget
        self._grid.addWidget(widget, list(self._names).index(name), 1)
        self.show_fact(name, True)

    def show_fact(self, name: str, shown: bool) -> None:
        """Show or hide a row."""
        label = self._names[name]
        label.setVisible(shown)
        if name in self._values:
            self._values[name].setVisible(shown)
        # Any other change of the grid would lay out again all that is around it.
        self._fit_row(list(self._names).index(name), label)

    def text(self, name: str) -> str:
        """The value of ``name``; empty while the row is hidden."""
        value = self._values.get(name)
        return value.text() if isinstance(value, ElidedLabel) and not value.isHidden() else ""

    def _fit(self) -> None:
        self._grid.setHorizontalSpacing(theme().px(GAP))
        self._grid.setColumnMinimumWidth(0, theme().px(NAMES) - theme().px(GAP))
        for row, label in enumerate(self._names.values()):
            self._fit_row(row, label)

    def _fit_row(self, row: int, label: QWidget) -> None:
        height = 0 if label.isHidden() else theme().px(ROW)
        if self._grid.rowMinimumHeight(row) != height:
            self._grid.setRowMinimumHeight(row, height)
