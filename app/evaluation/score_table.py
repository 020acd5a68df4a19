"""Metrics and their scores as a table: the line each has in the plots, its numbers, what is stale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from semblance.app.shell.theme import BASE, SMALL, colour, font, plain_tip, theme, theme_signals
from semblance.app.widgets.badge import badge_size, paint_badge
from semblance.app.widgets.read_only_table import make_read_only
from semblance.app.widgets.text_cache import LEFT, RIGHT, text_cache
from semblance.core.language import format_number, tr
from semblance.core.reports.axes import DASHES
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.evaluation.scored_metrics import ScoredMetric

ROW = 24
_SAMPLE, _GAP, _PAD = 14, 6, 6
_ROLE = Qt.ItemDataRole.UserRole
_SORT_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class Column:
    """``width`` in characters; the first column takes what is left."""

    key: str
    title: str
    width: int
    tip: str = ""
    number: bool = True


NAME = Column("name", tr("metric"), 22, number=False)
AT_10 = Column(
    "@10", tr("accuracy @10"), 16, tr("Share of the 10 nearest with the query's finding, 95 % interval")
)
AUC = Column("auc", tr("AUC"), 6, tr("Area under the ROC curve, mean over the findings"))
BRIEF = (NAME, AT_10, AUC)
FULL = (
    NAME,
    Column("learner", tr("learner"), 12, number=False),
    Column("features", tr("features"), 16, number=False),
    Column("@1", tr("accuracy @1"), 16, tr("Share of nearest cases with the query's finding, 95 % interval")),
    AT_10,
    Column(
        "@50", tr("accuracy @50"), 16, tr("Share of the 50 nearest with the query's finding, 95 % interval")
    ),
    AUC,
    Column(
        "ece", tr("calibration"), 10, tr("Expected calibration error of the estimate, ten bins. 0 is perfect")
    ),
    Column("n_train", tr("trained on"), 10, tr("Training cases")),
    Column("n_test", tr("held out"), 10, tr("Test cases")),
    Column("measured", tr("measured on"), 28, number=False),
    Column("seed", tr("seed"), 6, tr("Seed of the split")),
)


@dataclass(frozen=True)
class _Cell:
    """``line``: the metric's line in the plots (-1: the current one's), ``None`` where it is not drawn."""

    text: str
    current: bool
    stale: bool
    line: int | None = None
    name: bool = False
    number: bool = True


class ScoreTable(QTableWidget):
    """``chosen(name)`` when a person clicks a metric or presses Enter on it."""

    chosen = Signal(str)

    def __init__(self, columns: Sequence[Column], parent: QWidget | None = None) -> None:
        super().__init__(0, len(columns), parent)
        self._columns = tuple(columns)
        sortable = len(columns) > len(BRIEF)
        self.setItemDelegate(_Delegate(self))
        make_read_only(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Metrics and their scores"))
        head = self.horizontalHeader()
        head.setSectionsClickable(sortable)
        head.setMinimumSectionSize(30)
        if not sortable:
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for place, column in enumerate(self._columns):
            item = QTableWidgetItem(column.title)
            side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
            item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            item.setToolTip(plain_tip(column.tip))
            self.setHorizontalHeaderItem(place, item)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.setSortingEnabled(sortable)
        if sortable:
            head.setSortIndicatorClearable(True)
            head.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.cellClicked.connect(lambda row, _column: self._choose(row))
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_metrics(
        self, metrics: Sequence[ScoredMetric], current: str, lines: Mapping[str, int | None]
    ) -> None:
        """Show ``metrics``; ``lines`` are those drawn, with the number of their line (``None``: accent)."""
        self.setSortingEnabled(False)
        self.setRowCount(len(metrics))
        for row, metric in enumerate(metrics):
            for place, column in enumerate(self._columns):
                self.setItem(row, place, _item(metric, column, current, lines))
        self._fit_rows()
        self.setSortingEnabled(len(self._columns) > len(BRIEF))
        self.clearSelection()
        if current in self.names():
            self.setCurrentCell(self.names().index(current), 0)

    def names(self) -> list[str]:
        """The metrics in the order shown."""
        items = [self.item(row, 0) for row in range(self.rowCount())]
        return [item.text() for item in items if item is not None]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentRow() >= 0:
            self._choose(self.currentRow())
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(320, theme().px(ROW) * 5)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, theme().px(ROW) * 2)

    def _choose(self, row: int) -> None:
        self.chosen.emit(self.names()[row])

    def _fit(self) -> None:
        digit = QFontMetrics(font(BASE)).horizontalAdvance("0")
        small = QFontMetrics(font(SMALL))
        for place, column in enumerate(self._columns[1:], start=1):
            title = small.horizontalAdvance(column.title) + 2 * _PAD + (14 if len(self._columns) > 3 else 2)
            self.setColumnWidth(place, max(column.width * digit, title))
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW))
        self.horizontalHeader().setFixedHeight(theme().px(ROW))
        self._fit_rows()
        self.viewport().update()

    def _fit_rows(self) -> None:
        for row in range(self.rowCount()):
            self.setRowHeight(row, theme().px(ROW))


class _Item(QTableWidgetItem):
    """Sorted by number where there is one; rows without a number come first in rising order."""

    def __lt__(self, other: QTableWidgetItem) -> bool:
        return bool(self.data(_SORT_ROLE) < other.data(_SORT_ROLE))


def _item(
    metric: ScoredMetric, column: Column, current: str, lines: Mapping[str, int | None]
) -> QTableWidgetItem:
    text, order = _value(metric, column)
    item = _Item(text)
    line = None
    if column is NAME and metric.name in lines:
        found = lines[metric.name]
        line = -1 if found is None else found
    stale = metric.stale and metric.has_held_out_cases
    item.setData(
        _ROLE,
        _Cell(
            text,
            metric.name == current,
            stale,
            line,
            name=column is NAME,
            number=column.number,
        ),
    )
    item.setData(_SORT_ROLE, order)
    if column is NAME:
        words = [metric.name] + ([tr("the current metric")] if metric.name == current else [])
        if metric.stale:
            words.append(tr("stale: evaluate it again") if metric.has_held_out_cases else tr("not tested"))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(words))
        item.setToolTip(plain_tip(_tip(metric)))
    return item


def _value(metric: ScoredMetric, column: Column) -> tuple[str, str | float]:
    """What the cell says, and what it is sorted by."""
    scores, key = metric.scores, column.key
    if key.startswith("@"):
        values = metric.accuracy(int(key[1:]))
        return interval_text(*values), -1.0 if values[0] is None else values[0]
    if key in ("auc", "ece", "seed", "n_train", "n_test"):
        number = getattr(metric, key) if key in ("ece", "seed") else getattr(scores, key, None)
        if number is None:
            return "–", -1.0
        return format_number(number, ".2f" if key in ("auc", "ece") else ","), float(number)
    if key == "measured":
        unscored = tr("not measured yet") if metric.has_held_out_cases else tr("not tested")
        words = scores.measured_on if scores is not None else unscored
        return words, words
    words = str(getattr(metric, key))
    return words, words.casefold()


def _tip(metric: ScoredMetric) -> str:
    if not metric.has_held_out_cases:
        return tr("The metric was trained on all cases. None is left for a test.")
    if metric.scores is None:
        return tr("Not tested yet. Press Evaluate again to test it on cases not used for training.")
    if metric.stale:
        return tr("Cases were added or removed since the test. Press Evaluate again.")
    return tr(
        "{name}, measured on {n:,} cases: {measured}",
        name=metric.name,
        n=metric.scores.n_test,
        measured=metric.scores.measured_on,
    )


class _Delegate(QStyledItemDelegate):
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        cell, tokens = index.data(_ROLE), theme()
        where = QRect(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if selected or hovered:
            painter.fillRect(where, colour(tokens.selected if selected else tokens.card_hover))
        painter.fillRect(QRect(where.left(), where.bottom(), where.width(), 1), colour(tokens.line))
        if cell is None:
            return
        shade = tokens.third if cell.stale else tokens.text if cell.current or cell.number else tokens.second
        if cell.name and not cell.stale:
            shade = tokens.text
        inner = where.adjusted(_PAD, 0, -_PAD, 0)
        bold = cell.current and (cell.name or cell.number)
        if cell.name:
            inner = _key(painter, inner, cell)
            if cell.stale:
                size = badge_size("stale")
                room = inner.width() - size.width() - _GAP
                told = min(int(text_cache(BASE, 600 if bold else 400).width(cell.text)) + 1, max(room, 20))
                badge = QRect(
                    inner.left() + told + _GAP,
                    inner.center().y() + 1 - size.height() // 2,
                    size.width(),
                    size.height(),
                )
                ratio = painter.device().devicePixelRatioF()
                paint_badge(painter, badge, "stale", ratio=ratio)
                inner.setWidth(told)
        align = RIGHT if cell.number else LEFT
        value, _, interval = cell.text.partition(" (")
        if cell.number and interval:
            quiet = f" ({interval}"
            width = int(text_cache(BASE).width(quiet)) + 1
            side = tokens.third if cell.stale else tokens.second
            text_cache(BASE).draw(painter, inner, quiet, side, align)
            inner.setRight(inner.right() - width)
            text_cache(BASE, 600 if bold else 400).draw(painter, inner, value, shade, align)
            return
        text_cache(BASE, 600 if bold else 400).draw(painter, inner, cell.text, shade, align)


def _key(painter: QPainter, where: QRect, cell: _Cell) -> QRect:
    """The metric's line in the plots; returns the room that is left for its name."""
    if cell.line is not None:
        current = cell.line < 0
        pen = QPen(colour(theme().accent if current else theme().third), 1.8 if current else 1.4)
        dashes = () if current else DASHES[cell.line % len(DASHES)]
        if dashes:
            pen.setDashPattern([length / pen.widthF() for length in dashes])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        middle = where.center().y() + 1
        painter.drawLine(where.left(), middle, where.left() + _SAMPLE, middle)
    return where.adjusted(_SAMPLE + _GAP, 0, 0, 0)
