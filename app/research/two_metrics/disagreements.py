"""The queries two metrics disagree on most: a table, each line of which opens its query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QHeaderView, QStackedWidget, QTableView, QWidget

from semblance.app.research.two_metrics.facts import signed
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.finding_chip import chip_pixmap
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.read_only_table import make_read_only
from semblance.core.evaluation.neighbour_votes import VOTERS
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, no_cases
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.evaluation.compare_metrics import Disagreement, Disagreements

ROW = 24
#: Width of each column but the last, px at text scale 1.
_WIDE = (180, 90, 160, 110, 180, 180)
_Index = QModelIndex | QPersistentModelIndex


class DisagreementTable(QWidget):
    """``chosen(row)``: the case a person clicked twice or pressed Enter on; ``asked`` to make the table."""

    chosen = Signal(int)
    asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.model = _Model(self)
        self.table = _Table()
        self.table.setModel(self.model)
        self.table.entered_row.connect(lambda place: self.chosen.emit(self.model.line(place).row))
        self._told = ElidedLabel(role="second")
        self._told.setContentsMargins(12, 6, 12, 6)
        self._empty = EmptyState()
        shown = QWidget()
        inner = vbox(shown)
        inner.addWidget(self._told)
        inner.addWidget(self.table, 1)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(shown)
        vbox(self).addWidget(self._pages)
        self._restyle()
        theme_signals.changed.connect(self._restyle)

    @property
    def told(self) -> str:
        """What stands above the table."""
        return self._told.text()

    def show_found(self, columns: CaseColumns, names: tuple[str, str], found: Disagreements) -> None:
        """The queries, those with least in common first."""
        self.model.show_lines(columns, names, found.lines)
        asked = tr(
            "{asked:,} of {n:,} cases used as queries, drawn at random (seed {seed}), training data included",
            asked=found.asked,
            n=found.cases,
            seed=found.seed,
        )
        if not found.sampled:
            asked = tr("All {n:,} cases used as queries, training data included", n=found.cases)
        self._told.setText(
            tr(
                "{asked}. On average {shared:.1f} of the {n} nearest are the same. Press Enter or "
                "double-click to open a query here.",
                asked=asked,
                shared=found.mean_shared * VOTERS,
                n=VOTERS,
            )
        )
        self._pages.setCurrentIndex(1)
        self._restyle()
        self.table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
        self.table.selectRow(0)

    def show_message(
        self, title: str, text: str, button: str = "", then: Callable[[], object] | None = None
    ) -> None:
        """Why there is no table."""
        self.model.show_lines(no_cases(), ("", ""), ())
        self._empty.show_message(title, text, button, then)
        self._pages.setCurrentIndex(0)

    def _restyle(self) -> None:
        self.table.verticalHeader().setDefaultSectionSize(theme().px(ROW))
        for column, wide in enumerate(_WIDE[: self.model.columnCount()]):
            self.table.setColumnWidth(column, theme().px(wide))


class _Table(QTableView):
    entered_row = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        make_read_only(self)
        self.setSortingEnabled(True)
        self.setAccessibleName(tr("Queries on which the two metrics disagree"))
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        head.setStretchLastSection(True)
        self.doubleClicked.connect(lambda index: self.entered_row.emit(index.row()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.entered_row.emit(self.currentIndex().row())
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)


class _Model(QAbstractTableModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._columns: CaseColumns = no_cases()
        self._lines: list[Disagreement] = []
        self._names = ("", "")
        self._heads: tuple[str, ...] = (tr("query"),)

    def show_lines(self, columns: CaseColumns, names: tuple[str, str], lines: Sequence[Disagreement]) -> None:
        self.beginResetModel()
        self._columns, self._lines = columns, list(lines)
        self._names = names
        self._heads = (
            tr("query"),
            tr("shared of {n}", n=VOTERS),
            tr("Kendall τ, first 50"),
            tr("in training data"),
            tr("same finding, {metric}", metric=names[0]),
            tr("same finding, {metric}", metric=names[1]),
        )
        self.endResetModel()

    def line(self, place: int) -> Disagreement:
        return self._lines[place]

    def texts(self, place: int) -> list[str]:
        """What a line says."""
        line = self._lines[place]
        index = self._columns.index_of_row(line.row)
        agreement = line.agreement
        tau = "–"
        if agreement is not None:
            tau = signed(interval_text(agreement.tau, agreement.low, agreement.high))
        same = [
            "–" if value is None else tr("{k} of {n}", k=value, n=VOTERS)
            for value in (line.left_same, line.right_same)
        ]
        name = self._columns.labels[index] if index >= 0 else line.case_id
        return [name, str(line.shared), tau, self._trained(line), *same]

    def _trained(self, line: Disagreement) -> str:
        """Which of the metrics know the query already."""
        if all(line.trained):
            return tr("both")
        return next((name for name, was in zip(self._names, line.trained, strict=True) if was), "–")

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._heads)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._heads):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._heads[section]
        tips = {
            1: tr("How many of the ten nearest are the same under both metrics"),
            2: tr("How similar the orders of the left metric's first 50 cases are, with the 95 % interval"),
            3: tr("Metrics that were trained on this query or its patient"),
            4: tr("How many of the ten nearest have the query's finding"),
            5: tr("How many of the ten nearest have the query's finding"),
        }
        return tips.get(section) if role == Qt.ItemDataRole.ToolTipRole else None

    def data(self, index: _Index, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.texts(index.row())[index.column()]
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 0:
            at = self._columns.index_of_row(line.row)
            code = int(self._columns.finding[at]) if at >= 0 else NO_FINDING
            letter = "?" if code == NO_FINDING else self._columns.letters[self._columns.findings[code]]
            mark = QIcon()
            # A pixmap alone would be tinted where the line is selected.
            for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
                mark.addPixmap(chip_pixmap(code, letter), mode)
            return mark
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole) and index.column() == 0:
            return f"{line.case_id}, {line.finding or tr('finding not given')}"
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        def key(line: Disagreement) -> tuple[Any, ...]:
            tau = 1.0 if line.agreement is None else line.agreement.tau
            by = (
                (line.case_id,),
                (line.shared, tau),
                (tau,),
                (line.trained, line.shared, tau),
                (-1 if line.left_same is None else line.left_same, line.shared),
                (-1 if line.right_same is None else line.right_same, line.shared),
            )
            return by[max(0, column)]

        self.layoutAboutToBeChanged.emit()
        self._lines.sort(key=key, reverse=order == Qt.SortOrder.DescendingOrder)
        self.layoutChanged.emit()
