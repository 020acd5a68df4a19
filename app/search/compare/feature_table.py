"""A table of the features of the query and of a ranked case, for cases without images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from semblance.app.shell.theme import colour, plain_tip, theme, theme_signals
from semblance.app.widgets.read_only_table import make_read_only
from semblance.core.language import format_number, tr, visible
from semblance.core.workflows.searches.compare_cases import ComparedFeature

ROW = 24
#: Width of each column but the fourth, which takes the rest, px at text scale 1.
_WIDTHS = {0: 200, 1: 110, 2: 110, 4: 110}
_NAME, _QUERY, _CASE, _PLACES, _DIFFERENCE = range(5)
#: The plot of places reaches so many standard deviations to each side of the mean; farther ones are at its end.
REACH = 3.0
_RADIUS = 4.0
_KEYS = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
)
_Index = QModelIndex | QPersistentModelIndex


class FeatureTable(QTableView):
    """Names, values, places among all cases and differences, sorted by a click on a column."""

    def __init__(self) -> None:
        super().__init__()
        self.features = FeatureModel(self)
        self.setModel(self.features)
        make_read_only(self)
        self.setItemDelegateForColumn(_PLACES, _PlaceDelegate(self))
        self.setAccessibleName(tr("Features of the query and of the case"))
        self.setSortingEnabled(True)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        header.setSectionResizeMode(_PLACES, QHeaderView.ResizeMode.Stretch)
        self.sortByColumn(_DIFFERENCE, Qt.SortOrder.DescendingOrder)
        theme_signals.changed.connect(self._update_sizes)
        self._update_sizes()

    def show_features(self, features: Sequence[ComparedFeature], case_title: str) -> None:
        """Show ``features`` in the order that the user chose; ``case_title``: "Rank 3"."""
        header = self.horizontalHeader()
        self.features.set_features(features, case_title)
        self.features.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The other keys are those of the page."""
        if event.key() in _KEYS:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def _update_sizes(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme().px(ROW))
        for column, width in _WIDTHS.items():
            self.setColumnWidth(column, theme().px(width))


class FeatureModel(QAbstractTableModel):
    """A row for every feature."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._features: list[ComparedFeature] = []
        self._case_title = ""

    def set_features(self, features: Sequence[ComparedFeature], case_title: str) -> None:
        self.beginResetModel()
        self._features, self._case_title = list(features), case_title
        self.endResetModel()

    def feature(self, row: int) -> ComparedFeature:
        return self._features[row]

    def texts(self, row: int) -> tuple[str, str, str, str, str]:
        """The texts of a row; that of the plot is not displayed."""
        one = self._features[row]
        places = tr(
            "query {query}, case {case} standard deviations from the mean",
            query=_signed(one.query_place),
            case=_signed(one.case_place),
        )
        difference = "–" if math.isnan(one.difference) else format_number(one.difference, ".2f")
        return visible(one.name), _value(one.query), _value(one.case), places, difference

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._features)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else 5

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (
                tr("Feature"),
                f"○ {tr('Query')}",
                f"● {self._case_title}",
                tr("Among all cases: mean ± {reach:.0f} standard deviations", reach=REACH),
                tr("Difference, SD"),
            )[section]
        if role == Qt.ItemDataRole.ToolTipRole and section in (_PLACES, _DIFFERENCE):
            return plain_tip(
                tr(
                    "In standard deviations (SD) of the library's cases. The metric may weight features otherwise."
                )
            )
        return None

    def data(self, index: _Index, role: int = 0) -> Any:
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return None if column == _PLACES else self.texts(index.row())[column]
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.texts(index.row())[column]
        if role == Qt.ItemDataRole.ToolTipRole and column in (_NAME, _PLACES):
            return plain_tip(self.texts(index.row())[column])
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Missing values are last in both directions, and ties are in the order of the names."""
        sign = -1.0 if order == Qt.SortOrder.DescendingOrder else 1.0
        numbers: dict[int, Callable[[ComparedFeature], float]] = {
            _QUERY: lambda one: one.query,
            _CASE: lambda one: one.case,
            _PLACES: lambda one: one.query_place,
            _DIFFERENCE: lambda one: one.difference,
        }
        self.layoutAboutToBeChanged.emit()
        self._features.sort(key=lambda one: one.name.casefold(), reverse=column == _NAME and sign < 0)
        if column in numbers:
            number = numbers[column]
            self._features.sort(key=lambda one: (math.isnan(number(one)), sign * number(one)))
        self.layoutChanged.emit()


class _PlaceDelegate(QStyledItemDelegate):
    """Draws where the query (ring) and the case (disc) are between the ends of the plot, and the mean."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        super().paint(painter, option, index)
        one = index.model().feature(index.row())  # type: ignore[attr-defined]
        tokens, area = theme(), option.rect
        radius = _RADIUS * tokens.text_scale
        left, width = area.left() + 2 * radius, area.width() - 4 * radius
        middle = area.center().y() + 0.5

        def x(place: float) -> float:
            return left + width * (min(max(place, -REACH), REACH) / REACH + 1) / 2

        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour(tokens.strong_line), 1))
        painter.drawLine(QPointF(left, middle), QPointF(left + width, middle))
        painter.drawLine(QPointF(x(0), area.top() + 6), QPointF(x(0), area.bottom() - 5))
        places = (one.query_place, one.case_place)
        if not math.isnan(one.difference):
            painter.setPen(QPen(colour(tokens.bar_fill), 3))
            painter.drawLine(*(QPointF(x(place), middle) for place in places))
        painter.setPen(QPen(colour(tokens.text), 1.5))
        for place, fill in zip(places, (tokens.panel, tokens.text), strict=True):
            if not math.isnan(place):
                painter.setBrush(colour(fill))
                painter.drawEllipse(QPointF(x(place), middle), radius, radius)
        painter.restore()


def _value(value: float) -> str:
    """A value with four figures, whole numbers as they are."""
    if math.isnan(value):
        return "–"
    is_whole = value == int(value) if math.isfinite(value) else False
    return format_number(value, ",.0f" if abs(value) < 1e7 and (is_whole or abs(value) >= 1e4) else ".4g")


def _signed(place: float) -> str:
    return "–" if math.isnan(place) else format_number(place, "+.1f").replace("-", "−")
