"""A table of the metrics with their scores and a sample of their line in the plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPen, QResizeEvent
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

from semblance.app.shell.measured_on import measured_note
from semblance.app.shell.theme import BASE, SMALL, colour, font, plain_tip, theme, theme_signals
from semblance.app.widgets.badge import badge_size, paint_badge
from semblance.app.widgets.tables import make_read_only
from semblance.app.widgets.text_cache import LEFT, RIGHT, text_cache
from semblance.core.evaluation.evaluate_metric import MetricScores, chance_note
from semblance.core.language import format_number, tr, tr_name, translate, visible
from semblance.core.metrics.registry import learner_title
from semblance.core.reports.curves import interval_text
from semblance.core.reports.plot import DASHES
from semblance.core.workflows.evaluation.scored_metrics import ScoredMetric

ROW_HEIGHT = 24
_SAMPLE_WIDTH, _GAP, _PADDING = 14, 6, 6
_ROLE = Qt.ItemDataRole.UserRole
_SORT_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class Column:
    """``width`` in characters. The first column takes the remaining width."""

    key: str
    title: str
    width: int
    tip: str = ""
    number: bool = True


NAME = Column("name", tr("metric"), 22, number=False)
AT_10 = Column(
    "@10", tr("accuracy @10"), 16, tr("Share of the 10 nearest with the query's finding, 95 % interval")
)
CHANCE = Column("chance", tr("chance"), 7, tr("What a random order is expected to have for accuracy @10"))
AUC = Column(
    "mean_auc", tr("mean AUC"), 9, tr("Mean AUC over findings: of the ROC of each finding against the rest")
)
BRIEF = (NAME, AT_10, CHANCE, AUC)
FULL = (
    NAME,
    Column("learner", tr("learner"), 12, number=False),
    Column("features", tr("features"), 16, number=False),
    Column("@1", tr("accuracy @1"), 16, tr("Share of nearest cases with the query's finding, 95 % interval")),
    AT_10,
    CHANCE,
    Column(
        "macro",
        tr("macro @10"),
        16,
        tr(
            "Mean over findings of their accuracy @10, 95 % interval. A rare finding counts as much as a frequent one"
        ),
    ),
    Column(
        "worst", tr("worst finding @10"), 24, tr("The finding with the lowest accuracy @10, 95 % interval")
    ),
    Column(
        "@50", tr("accuracy @50"), 16, tr("Share of the 50 nearest with the query's finding, 95 % interval")
    ),
    AUC,
    Column(
        "ece", tr("calibration"), 10, tr("Expected calibration error of the estimate, ten bins. 0 is perfect")
    ),
    Column(
        "control",
        tr("control @10"),
        14,
        tr(
            "Accuracy @10 after training on shuffled findings, and where 99 of 100 chance results are."
            " A control above them says that the measurement is wrong"
        ),
    ),
    Column("n_train", tr("trained on"), 10, tr("Training cases")),
    Column("n_test", tr("held out"), 10, tr("Test cases")),
    Column("measured", tr("measured on"), 28, number=False),
    Column("seed", tr("seed"), 6, tr("Seed of the split")),
)


@dataclass(frozen=True)
class _CellContent:
    """``line``: number of the metric's line in the plots (-1: the current metric), ``None`` if it has none."""

    text: str
    current: bool
    stale: bool
    line: int | None = None
    name: bool = False
    number: bool = True


class ScoreTable(QTableWidget):
    """``chosen(name)`` is emitted when a metric is clicked or Enter is pressed on it."""

    chosen = Signal(str)

    def __init__(self, columns: Sequence[Column], parent: QWidget | None = None) -> None:
        super().__init__(0, len(columns), parent)
        self._columns = tuple(columns)
        is_sortable = len(columns) > len(BRIEF)
        self.setItemDelegate(ScoreDelegate(self))
        make_read_only(self)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Metrics and their scores"))
        header = self.horizontalHeader()
        header.setSectionsClickable(is_sortable)
        header.setMinimumSectionSize(30)
        if not is_sortable:
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for index, column in enumerate(self._columns):
            item = QTableWidgetItem(column.title)
            alignment = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
            item.setTextAlignment(alignment | Qt.AlignmentFlag.AlignVCenter)
            item.setToolTip(plain_tip(column.tip))
            self.setHorizontalHeaderItem(index, item)
        if not is_sortable:
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.setSortingEnabled(is_sortable)
        if is_sortable:
            header.setSortIndicatorClearable(True)
            header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.cellClicked.connect(lambda row, _column: self._choose(row))
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_metrics(
        self, metrics: Sequence[ScoredMetric], current: str, line_numbers: Mapping[str, int | None]
    ) -> None:
        """Show ``metrics``. ``line_numbers`` maps the plotted metrics to their lines (``None``: the accent colour)."""
        self.setSortingEnabled(False)
        self.setRowCount(len(metrics))
        for row, metric in enumerate(metrics):
            for index, column in enumerate(self._columns):
                self.setItem(row, index, _item(metric, column, current, line_numbers))
        self._fit_rows()
        self.setSortingEnabled(len(self._columns) > len(BRIEF))
        self.clearSelection()
        if current in self.names():
            self.setCurrentCell(self.names().index(current), 0)

    def names(self) -> list[str]:
        """The metrics in the order shown."""
        items = [self.item(row, 0) for row in range(self.rowCount())]
        return [item.text() for item in items if item is not None]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_names()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentRow() >= 0:
            self._choose(self.currentRow())
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(320, theme().px(ROW_HEIGHT) * 5)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, theme().px(ROW_HEIGHT) * 2)

    def _choose(self, row: int) -> None:
        self.chosen.emit(self.names()[row])

    def _fit(self) -> None:
        digit = QFontMetrics(font(BASE)).horizontalAdvance("0")
        small = QFontMetrics(font(SMALL))
        for index, column in enumerate(self._columns[1:], start=1):
            title = (
                small.horizontalAdvance(column.title) + 2 * _PADDING + (14 if len(self._columns) > 3 else 2)
            )
            self.setColumnWidth(index, max(column.width * digit, title))
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW_HEIGHT))
        self.horizontalHeader().setFixedHeight(theme().px(ROW_HEIGHT))
        self._fit_rows()
        self.viewport().update()

    def _fit_names(self) -> None:
        """Give the names the remaining width, but at least what they need up to the width of their column."""
        if len(self._columns) == len(BRIEF):
            return
        others = sum(self.columnWidth(index) for index in range(1, len(self._columns)))
        names = max((text_cache(BASE, 600).width(name) for name in self.names()), default=0)
        badge = badge_size("stale").width() + _GAP if any(map(self._is_stale, range(self.rowCount()))) else 0
        needed = int(names) + 1 + _SAMPLE_WIDTH + _GAP + 2 * _PADDING + badge
        widest = NAME.width * QFontMetrics(font(BASE)).horizontalAdvance("0") + badge
        self.setColumnWidth(0, max(self.viewport().width() - others, min(needed, widest)))

    def _is_stale(self, row: int) -> bool:
        item = self.item(row, 0)
        return item is not None and item.data(_ROLE).stale

    def _fit_rows(self) -> None:
        self._fit_names()
        for row in range(self.rowCount()):
            self.setRowHeight(row, theme().px(ROW_HEIGHT))


class _SortableItem(QTableWidgetItem):
    """Sorts by number. Items without a number come first in ascending order."""

    def __lt__(self, other: QTableWidgetItem) -> bool:
        return bool(self.data(_SORT_ROLE) < other.data(_SORT_ROLE))


def _item(
    metric: ScoredMetric, column: Column, current: str, line_numbers: Mapping[str, int | None]
) -> QTableWidgetItem:
    text, sort_key = _value(metric, column)
    item = _SortableItem(text)
    line = None
    if column is NAME and metric.name in line_numbers:
        number = line_numbers[metric.name]
        line = -1 if number is None else number
    stale = metric.stale and metric.scores is not None
    item.setData(
        _ROLE,
        _CellContent(
            text,
            metric.name == current,
            stale,
            line,
            name=column is NAME,
            number=column.number,
        ),
    )
    item.setData(_SORT_ROLE, sort_key)
    if column is NAME:
        texts = [metric.name] + ([tr("the current metric")] if metric.name == current else [])
        if metric.stale:
            texts.append(tr("not tested") if metric.scores is None else tr("stale: evaluate it again"))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(texts))
        item.setToolTip(plain_tip(_tip(metric)))
    return item


def _value(metric: ScoredMetric, column: Column) -> tuple[str, str | float]:
    """The text of a cell and its sort key."""
    scores, key = metric.scores, column.key
    if key.startswith("@"):
        values = metric.accuracy(int(key[1:]))
        return interval_text(*values), -1.0 if values[0] is None else values[0]
    if key in ("chance", "macro", "worst"):
        return _beside_accuracy(scores, key)
    if key == "control":
        if metric.control is None:
            return "–", -1.0
        return interval_text(metric.control.accuracy, *metric.control.interval), metric.control.accuracy
    if key in ("mean_auc", "ece", "seed", "n_train", "n_test"):
        number = getattr(metric, key) if key in ("ece", "seed") else getattr(scores, key, None)
        if number is None:
            return "–", -1.0
        return format_number(number, ".2f" if key in ("mean_auc", "ece") else ","), float(number)
    if key == "measured":
        unscored = tr("not measured yet") if metric.has_held_out_cases else tr("not tested")
        text = translate(scores.measured_on) if scores is not None else unscored
        return text, text
    text = learner_title(metric.learner) if key == "learner" else str(getattr(metric, key))
    return text, text.casefold()


def _beside_accuracy(scores: MetricScores | None, key: str) -> tuple[str, float]:
    if scores is None:
        return "–", -1.0
    if key == "chance":
        return interval_text(scores.chance, None, None), -1.0 if scores.chance is None else scores.chance
    name, found = (scores.worst or ("", None)) if key == "worst" else ("", scores.macro)
    if found is None or found.mean is None:
        return "–", -1.0
    text = interval_text(found.mean, found.low, found.high)
    return (f"{visible(name)} {text}" if name else text), found.mean


def not_tested(metric: ScoredMetric) -> str:
    """Why ``metric`` has no scores, and what to do."""
    if not metric.has_held_out_cases:
        return tr("The metric was trained on all cases. None is left for a test.")
    return tr("Not tested yet. Press Evaluate again to test it on cases not used for training.")


def _tip(metric: ScoredMetric) -> str:
    if metric.scores is None:
        return not_tested(metric)
    if metric.stale:
        return tr("Cases were added or removed since the test. Press Evaluate again.")
    measured = tr(
        "{name}, measured on {cases}",
        name=metric.name,
        cases=translate(
            measured_note(
                metric.scores.n_test,
                metric.scores.measured_on,
                stale=False,
                n_queries=metric.scores.n_queries,
            )
        ),
    )
    return "\n".join(filter(None, (measured, tr_name(chance_note(metric.scores)))))


class ScoreDelegate(QStyledItemDelegate):
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        cell, tokens = index.data(_ROLE), theme()
        rect = QRect(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if selected or hovered:
            painter.fillRect(rect, colour(tokens.selected if selected else tokens.card_hover))
        painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), colour(tokens.line))
        if cell is None:
            return
        text_colour = (
            tokens.third if cell.stale else tokens.text if cell.current or cell.number else tokens.second
        )
        if cell.name and not cell.stale:
            text_colour = tokens.text
        text_rect = rect.adjusted(_PADDING, 0, -_PADDING, 0)
        bold = cell.current and (cell.name or cell.number)
        if cell.name:
            text_rect = _draw_line_sample(painter, text_rect, cell)
            if cell.stale:
                text_width = int(text_cache(BASE, 600 if bold else 400).width(cell.text)) + 1
                _draw_stale(painter, text_rect, min(text_width, text_rect.width()))
        alignment = RIGHT if cell.number else LEFT
        value, _, interval = cell.text.partition(" (")
        if cell.number and interval:
            interval_part = f" ({interval}"
            width = int(text_cache(BASE).width(interval_part)) + 1
            interval_colour = tokens.third if cell.stale else tokens.second
            text_cache(BASE).draw(painter, text_rect, interval_part, interval_colour, alignment)
            text_rect.setRight(text_rect.right() - width)
            text_cache(BASE, 600 if bold else 400).draw(painter, text_rect, value, text_colour, alignment)
            return
        text_cache(BASE, 600 if bold else 400).draw(
            painter, text_rect, cell.text, text_colour, alignment, middle=True
        )


def _draw_stale(painter: QPainter, rect: QRect, text_width: int) -> None:
    """Draw the badge behind the name, or a dashed line below the name where there is no space for both."""
    size, left = badge_size("stale"), rect.left() + text_width + _GAP
    if left + size.width() <= rect.right() + 1:
        top = rect.center().y() + 1 - size.height() // 2
        where = QRect(QPoint(left, top), size)
        paint_badge(painter, where, "stale", ratio=painter.device().devicePixelRatioF())
        return
    pen = QPen(colour(theme().second), 1)
    pen.setDashPattern([3, 2])
    painter.setPen(pen)
    bottom = rect.center().y() + theme().px(8)
    painter.drawLine(rect.left(), bottom, rect.left() + text_width, bottom)


def _draw_line_sample(painter: QPainter, rect: QRect, cell: _CellContent) -> QRect:
    """Draw a sample of the metric's line in the plots, and return the rectangle for its name."""
    if cell.line is not None:
        current = cell.line < 0
        pen = QPen(colour(theme().accent if current else theme().third), 1.8 if current else 1.4)
        dashes = () if current else DASHES[cell.line % len(DASHES)]
        if dashes:
            pen.setDashPattern([length / pen.widthF() for length in dashes])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        middle = rect.center().y() + 1
        painter.drawLine(rect.left(), middle, rect.left() + _SAMPLE_WIDTH, middle)
    return rect.adjusted(_SAMPLE_WIDTH + _GAP, 0, 0, 0)
