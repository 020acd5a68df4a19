"""A sortable table of the issues that a data check found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from semblance.app.shell.theme import plain_tip, theme, theme_signals
from semblance.app.widgets.tables import make_read_only
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.library.natural_key import natural_key
from semblance.core.workflows.library.data_issues import Check, DataIssue, Severity

KINDS = {
    Check.LABEL_CONFLICT: tr("Label conflict"),
    Check.CONTRADICTION: tr("Contradictory rows"),
    Check.LABEL_ERROR: tr("Looks unlike its finding"),
    Check.WRONG_SIDE: tr("Wrong side"),
    Check.BLANK: tr("Blank image"),
    Check.CUT: tr("Cut image"),
    Check.TEXT: tr("Burnt-in text"),
    Check.MARKS: tr("Burnt-in marks"),
    Check.OUTLIER: tr("Outlier"),
    Check.FEW_PATIENTS: tr("Few patients"),
    Check.TELLING_COLUMN: tr("Column determines the finding"),
}
SEVERITIES = {Severity.HIGH: tr("high"), Severity.MEDIUM: tr("medium"), Severity.LOW: tr("low")}
ROW_HEIGHT = 24
#: Width of each column but the last, px at text scale 1.
_WIDTHS = (220, 80, 200)
_Index = QModelIndex | QPersistentModelIndex
_ORDER = {check: place for place, check in enumerate(Check)}


class IssueTable(QTableView):
    """``entered(issue)``: double click or Enter. ``chosen()``: another row is current."""

    entered = Signal(object)
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.issues = IssueModel(self)
        self.setModel(self.issues)
        make_read_only(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Issues"))
        self.setSortingEnabled(True)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        header.setStretchLastSection(True)
        self.sortByColumn(1, Qt.SortOrder.AscendingOrder)
        self.doubleClicked.connect(lambda index: self.entered.emit(self.issues.issue(index.row())))
        self.selectionModel().currentRowChanged.connect(lambda *_: self.chosen.emit())
        theme_signals.changed.connect(self._fit)
        self._fit()

    def current(self) -> DataIssue | None:
        """The issue in the current row."""
        row = self.currentIndex().row()
        return self.issues.issue(row) if 0 <= row < self.issues.rowCount() else None

    def set_issues(self, issues: Sequence[DataIssue], columns: CaseColumns, row: int = 0) -> None:
        """Show ``issues``, sorted as before; the row ``row``, or the last one, becomes current."""
        self.issues.set_issues(issues, columns)
        header = self.horizontalHeader()
        self.issues.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())
        if issues:
            self.selectRow(min(max(0, row), len(issues) - 1))
        self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        issue = self.current()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and issue is not None:
            self.entered.emit(issue)
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW_HEIGHT))
        for column, width in enumerate(_WIDTHS):
            self.setColumnWidth(column, theme().px(width))


class IssueModel(QAbstractTableModel):
    """A row for every issue: kind, severity, cases, and what was found."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._issues: list[DataIssue] = []
        self._columns: CaseColumns = no_cases()
        self._titles = (tr("kind"), tr("severity"), tr("case"), tr("what was found"))

    def set_issues(self, issues: Sequence[DataIssue], columns: CaseColumns) -> None:
        self.beginResetModel()
        self._issues, self._columns = list(issues), columns
        self.endResetModel()

    def issue(self, row: int) -> DataIssue:
        return self._issues[row]

    def texts(self, row: int) -> tuple[str, str, str, str]:
        """The texts of a row."""
        issue = self._issues[row]
        return KINDS[issue.check], SEVERITIES[issue.severity], self._cases(issue), translate(issue.text)

    def _cases(self, issue: DataIssue) -> str:
        place = self._columns.index_of_row(issue.rows[0])
        first = self._columns.name(place) if place >= 0 else issue.case_ids[0]
        others = len(issue.rows) - 1
        if not others:
            return first
        return tr_n("{case} and {n} other", "{case} and {n} others", others, case=first)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._issues)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        return None

    def data(self, index: _Index, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.texts(index.row())[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            issue = self._issues[index.row()]
            return plain_tip("\n".join(issue.case_ids[:20]) if index.column() == 2 else translate(issue.text))
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Ties are in the order of severity, kind and case, whatever the direction."""

        def usual(issue: DataIssue) -> tuple[Any, ...]:
            return -issue.severity, _ORDER[issue.check], natural_key(issue.case_ids[0])

        keys = (
            lambda issue: _ORDER[issue.check],
            lambda issue: -issue.severity,
            lambda issue: natural_key(issue.case_ids[0]),
            lambda issue: translate(issue.text).casefold(),
        )
        self.layoutAboutToBeChanged.emit()
        self._issues.sort(key=usual)
        self._issues.sort(key=keys[max(0, column)], reverse=order == Qt.SortOrder.DescendingOrder)
        self.layoutChanged.emit()
