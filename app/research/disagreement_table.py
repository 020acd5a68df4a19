"""A table of the queries on which two metrics disagree most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QHeaderView, QStackedWidget, QTableView, QWidget

from semblance.app.research.two_metrics_facts import signed
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.finding_chips import chip_pixmap
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import fill, vbox
from semblance.app.widgets.tables import enter_rows, make_read_only
from semblance.core.errors import SemblanceError
from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, no_cases
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.evaluation.compare_metrics import Disagreement, Disagreements

ROW_HEIGHT = 24
#: Width of each column but the last, px at text scale 1.
_COLUMN_WIDTHS = (180, 90, 160, 110, 180, 180)
_Index = QModelIndex | QPersistentModelIndex


class DisagreementTable(QWidget):
    """``chosen(row)`` is emitted on a double click on a case, or Enter."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.model = DisagreementModel(self)
        self.table = QueryTable()
        self.table.setModel(self.model)
        self.table.row_entered.connect(lambda row: self.chosen.emit(self.model.disagreement(row).row))
        self._note = ElidedLabel(role="second")
        self._note.setContentsMargins(12, 6, 12, 6)
        self.empty = EmptyState()
        content = QWidget()
        fill(vbox(content), self._note, (self.table, 1))
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(content)
        vbox(self).addWidget(self._pages)
        self._restyle()
        theme_signals.changed.connect(self._restyle)

    @property
    def note(self) -> str:
        """The text above the table."""
        return self._note.text()

    def show_disagreements(
        self, columns: CaseColumns, names: tuple[str, str], disagreements: Disagreements
    ) -> None:
        """Show the queries, those with the fewest shared neighbours first."""
        self.model.set_rows(columns, names, disagreements.lines)
        queries_text = tr(
            "{n_queries:,} of {n:,} cases used as queries, drawn at random (seed {seed}), training"
            " data included",
            n_queries=disagreements.n_queries,
            n=disagreements.cases,
            seed=disagreements.seed,
        )
        if not disagreements.sampled:
            queries_text = tr(
                "All {n:,} cases used as queries, training data included", n=disagreements.cases
            )
        self._note.setText(
            tr(
                "{queries}. On average {shared:.1f} of the {n} nearest are the same. Press Enter or "
                "double-click to open a query here.",
                queries=queries_text,
                shared=disagreements.mean_shared * VOTERS,
                n=VOTERS,
            )
        )
        self._pages.setCurrentIndex(1)
        self._restyle()
        self.table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
        self.table.selectRow(0)

    def show_error(self, error: SemblanceError, button: str, then: Callable[[], object]) -> None:
        """Show an error instead of the table."""
        self.model.set_rows(no_cases(), ("", ""), ())
        self.empty.show_error(error, "", button, then)
        self._pages.setCurrentWidget(self.empty)

    def show_message(
        self, title: str, text: str, button: str = "", then: Callable[[], object] | None = None
    ) -> None:
        """Show a message instead of the table."""
        self.model.set_rows(no_cases(), ("", ""), ())
        self.empty.show_message(title, text, button, then)
        self._pages.setCurrentIndex(0)

    def _restyle(self) -> None:
        self.table.verticalHeader().setDefaultSectionSize(theme().px(ROW_HEIGHT))
        for column, width in enumerate(_COLUMN_WIDTHS[: self.model.columnCount()]):
            self.table.setColumnWidth(column, theme().px(width))


class QueryTable(QTableView):
    row_entered = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        make_read_only(self)
        self.setSortingEnabled(True)
        self.setAccessibleName(tr("Queries on which the two metrics disagree"))
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        header.setStretchLastSection(True)
        enter_rows(self, self.row_entered.emit)


class DisagreementModel(QAbstractTableModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._columns: CaseColumns = no_cases()
        self._rows: list[Disagreement] = []
        self._names = ("", "")
        self._titles: tuple[str, ...] = (tr("query"),)

    def set_rows(self, columns: CaseColumns, names: tuple[str, str], rows: Sequence[Disagreement]) -> None:
        self.beginResetModel()
        self._columns, self._rows = columns, list(rows)
        self._names = names
        self._titles = (
            tr("query"),
            tr("shared of {n}", n=VOTERS),
            tr("Kendall τ, first 50"),
            tr("trained on it"),
            tr("same finding, {metric}", metric=names[0]),
            tr("same finding, {metric}", metric=names[1]),
        )
        self.endResetModel()

    def disagreement(self, row: int) -> Disagreement:
        return self._rows[row]

    def row_texts(self, row: int) -> list[str]:
        """The texts of a row."""
        disagreement = self._rows[row]
        index = self._columns.index_of_row(disagreement.row)
        agreement = disagreement.agreement
        tau = "–"
        if agreement is not None:
            tau = signed(interval_text(agreement.tau, agreement.low, agreement.high))
        same_findings = [
            "–" if value is None else tr("{k} of {n}", k=value, n=VOTERS)
            for value in (disagreement.left_same, disagreement.right_same)
        ]
        name = self._columns.name(index) if index >= 0 else disagreement.case_id
        return [name, str(disagreement.shared), tau, self._trained_metric(disagreement), *same_findings]

    def _trained_metric(self, disagreement: Disagreement) -> str:
        """Which of the metrics learnt from the finding of the query."""
        if all(disagreement.trained):
            return tr("both")
        return next(
            (name for name, is_trained in zip(self._names, disagreement.trained, strict=True) if is_trained),
            "–",
        )

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._titles):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        tips = {
            1: tr("How many of the ten nearest are the same under both metrics"),
            2: tr("How similar the orders of the left metric's first 50 cases are, with the 95 % interval"),
            3: tr("Metrics that learned from the finding of this query or of its patient"),
            4: tr("How many of the ten nearest have the query's finding"),
            5: tr("How many of the ten nearest have the query's finding"),
        }
        return tips.get(section) if role == Qt.ItemDataRole.ToolTipRole else None

    def data(self, index: _Index, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.row_texts(index.row())[index.column()]
        disagreement = self._rows[index.row()]
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 0:
            case = self._columns.index_of_row(disagreement.row)
            code = int(self._columns.finding[case]) if case >= 0 else NO_FINDING
            letter = "?" if code == NO_FINDING else self._columns.letters[self._columns.findings[code]]
            icon = QIcon()
            # A pixmap alone would be tinted in a selected row.
            for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
                icon.addPixmap(chip_pixmap(code, letter), mode)
            return icon
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole) and index.column() == 0:
            return f"{disagreement.case_id}, {disagreement.finding or tr('finding not given')}"
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        def key(disagreement: Disagreement) -> tuple[Any, ...]:
            tau = 1.0 if disagreement.agreement is None else disagreement.agreement.tau
            sort_keys = (
                (disagreement.case_id,),
                (disagreement.shared, tau),
                (tau,),
                (disagreement.trained, disagreement.shared, tau),
                (-1 if disagreement.left_same is None else disagreement.left_same, disagreement.shared),
                (-1 if disagreement.right_same is None else disagreement.right_same, disagreement.shared),
            )
            return sort_keys[max(0, column)]

        self.layoutAboutToBeChanged.emit()
        self._rows.sort(key=key, reverse=order == Qt.SortOrder.DescendingOrder)
        self.layoutChanged.emit()
