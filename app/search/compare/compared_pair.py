"""The query and the ranked case that are compared, and the facts of both side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QGridLayout,
    QHeaderView,
    QLabel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.theme import colour, plain_tip, theme, theme_signals
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.tables import make_read_only
from semblance.core.imaging.burnt_in_marks import MARKS_ATTRIBUTE
from semblance.core.language import format_number, localise_number, tr, tr_n, translate, visible
from semblance.core.library.case_columns import CaseColumns, ImageAvailability
from semblance.core.library.case_names import date_name
from semblance.core.library.location import LibraryLocation
from semblance.core.reports.case_attributes import FILE_ATTRIBUTES, attribute_title
from semblance.core.searches.feedback.judgements import QueryMarks, marks_of
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace, RankedCase
from semblance.core.workflows.imaging.view_images import ViewedImage
from semblance.core.workflows.searches.compare_cases import ComparedFeature
from semblance.core.workflows.searches.rank_cases import RankedSearch


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """A query and one of the cases ranked by it. ``ranked``: those that ``columns`` has; ``place``: that of the case.

    Header, image and facts of both sides are drawn from one pair, so they are never of two searches. ``latest``: the
    ranking after marks that were made while these are compared. It has the marks; its order is shown later.
    """

    library: LibraryLocation
    columns: CaseColumns
    ranked_search: RankedSearch
    ranked: tuple[RankedCase, ...]
    place: int
    latest: RankedSearch | None = None

    @property
    def query(self) -> Query:
        return self.ranked_search.result.query

    @property
    def case(self) -> RankedCase:
        return self.ranked[self.place]

    @property
    def source(self) -> QuerySource:
        """The image of the query."""
        return QuerySource.of(self.library, self.query)

    @property
    def query_name(self) -> str:
        """The name of the query."""
        return self.described(self.query.case)[0]

    @property
    def query_row(self) -> int:
        """The catalogue row of the query, -1 for an image from outside."""
        return self.columns.row_of_id(self.query.case)

    @cached_property
    def marks(self) -> QueryMarks:
        """The cases marked as more and as less like the query."""
        entries = (self.latest or self.ranked_search).entries
        in_force = (entry.judgement for entry in entries if entry.undone is None)
        return marks_of(in_force, self.query)

    @cached_property
    def moving(self) -> int:
        """How many cases have another rank once the latest ranking is shown."""
        if self.latest is None:
            return 0
        ranks = {case.row: case.rank for case in self.latest.result.ranked}
        return sum(ranks.get(case.row) != case.rank for case in self.ranked)

    def moved(self, steps: int) -> ComparedPair:
        """The pair ``steps`` ranks further, or back, as far as there are ranks."""
        return replace(self, place=min(max(self.place + steps, 0), len(self.ranked) - 1))

    def at(self, case_row: int) -> ComparedPair | None:
        """The query with the case ``case_row``; ``None`` if that is not ranked."""
        place = next((place for place, case in enumerate(self.ranked) if case.row == case_row), None)
        return None if place is None else replace(self, place=place)

    def after(self, before: ComparedPair) -> ComparedPair:
        """The pair to show when the ranking changed. After a mark the order stays as it was ``before``. Else it is the
        same case, or if it is not ranked any more, the case that has its rank now."""
        old, new = before.latest or before.ranked_search, self.ranked_search
        one, other = old.search, new.search
        # Notes and cases of the report are no part of the order.
        one = replace(one, strength=other.strength, notes=other.notes, in_report=other.in_report)
        if old.entries != new.entries and one == other:
            return replace(before, latest=new, columns=self.columns)
        if before.latest is not None and new is before.latest:
            return replace(before, columns=self.columns)
        stays = self.case.row == before.case.row
        return self if stays else replace(self, place=min(before.place, len(self.ranked) - 1))

    def shows_same_case(self, other: ComparedPair) -> bool:
        """Whether ``other`` shows the same image, or the same features, beside the same query."""
        same = (self.source, self.case.row) == (other.source, other.case.row)
        return same and (self.ranked_search.search.metric == other.ranked_search.search.metric)

    def is_table_row(self, case: str | None) -> bool:
        """Whether the case ``case`` of the library is a row of a table."""
        index = self.columns.index_of_id(case)
        return index >= 0 and bool(self.columns.state[index] == ImageAvailability.NO_IMAGE)

    def described(self, case: str | None) -> tuple[str, str | None, int, str]:
        """Name, finding, its number and its letter of a case; ``None``: of a query from outside."""
        columns = self.columns
        index = columns.index_of_id(case)
        if index < 0:
            return case or (self.query.image.name if self.query.image is not None else ""), None, -1, "?"
        finding = columns.finding_name(index)
        return (
            columns.name(index),
            finding,
            int(columns.finding[index]),
            columns.letters.get(finding or "", "?"),
        )

    def cards(self) -> CaseModel:
        """The ranked cases with their marks."""
        columns = self.columns
        order = np.array([columns.index_of_row(case.row) for case in self.ranked], dtype=np.intp)
        distances = np.array([case.distance for case in self.ranked], dtype=np.float64)
        return CaseModel(columns, order, distances, judgements=self.judgements, places=self._places)

    @property
    def judgements(self) -> dict[int, int]:
        """The marks by catalogue row, 1 or -1."""
        columns = self.columns
        return {
            row: mark
            for mark, cases in ((1, self.marks.liked), (-1, self.marks.disliked))
            for case in cases
            if (row := columns.row_of_id(case)) >= 0
        }

    @property
    def found_slices(self) -> dict[int, int]:
        """By catalogue row of a volume, the slice from 0 on which a search by place found the query."""
        places = self._places.items()
        return {row: place.number for row, place in places if place.number is not None}

    @property
    def _places(self) -> dict[int, MatchedPlace]:
        return {int(case.row): case.place for case in self.ranked if case.place is not None}


def compared_pair(
    library: LibraryLocation, columns: CaseColumns, ranked_search: RankedSearch, case_row: int
) -> ComparedPair | None:
    """The query of ``ranked_search`` with the case ``case_row``, or with the nearest if that is not ranked; ``None`` if
    no ranked case is left."""
    ranked = tuple(case for case in ranked_search.result.ranked if columns.index_of_row(case.row) >= 0)
    if not ranked:
        return None
    nearest = ComparedPair(library, columns, ranked_search, ranked, 0)
    return nearest.at(case_row) or nearest


ROW, GAP, NAMES, WIDTH = 20, 4, 84, 320
#: More attributes are in the details of the case.
_MAX_ROWS = 14
_AGE = re.compile(r"0*(\d{1,3})([DWMY])")
_DECIMAL = re.compile(r"-?\d+\.\d+")
#: Identifiers of the archive, which say nothing about similarity.
_IDENTIFIERS = FILE_ATTRIBUTES | {"study", "series", "instance", "issuer", "order"}

FEATURE_ROW = 24
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


class CompareFacts(Panel):
    """A table of two columns, with a row for each fact that at least one of both has."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout()
        self._grid.setContentsMargins(12, 8, 12, 8)
        self._grid.setHorizontalSpacing(8)
        # Also between rows of several lines.
        self._grid.setVerticalSpacing(GAP)
        # Names are wrapped as soon as values need the width.
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(2, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._grid)
        column.addStretch(1)
        theme_signals.changed.connect(self._update_width)
        self._update_width()

    def _update_width(self) -> None:
        self._grid.setColumnMinimumWidth(0, theme().px(NAMES))

    def show_facts(
        self,
        columns: CaseColumns,
        titles: tuple[str, str],
        cases: tuple[str | None, str | None],
        viewed: tuple[ViewedImage | None, ViewedImage | None],
    ) -> None:
        """Show the facts of two cases: ``titles`` of the columns, ids in ``columns``, and images."""
        self.clear()
        for column, title in enumerate(titles):
            self._put(0, column + 1, _label(title, "third"))
        lines = self._lines(columns, cases, viewed)
        for row, (name, values) in enumerate(lines, 1):
            self._put(row, 0, _label(name, "second"))
            for column, value in enumerate(values):
                self._put(row, column + 1, value if isinstance(value, QWidget) else _label(value))

    def clear(self) -> None:
        """Show no facts."""
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def texts(self) -> list[list[str]]:
        """The texts of the table, row by row, with the titles first."""
        found: dict[int, list[str]] = {}
        for place in range(self._grid.count()):
            row = self._grid.getItemPosition(place)[0]  # type: ignore[index]
            item = self._grid.itemAt(place)
            widget = item.widget() if item is not None else None
            if isinstance(widget, QLabel | ElidedLabel):
                found.setdefault(row, []).append(widget.text())
            elif widget is not None:
                found.setdefault(row, []).append(widget.accessibleName())
        return [found[row] for row in sorted(found)]

    def _put(self, row: int, column: int, widget: QWidget) -> None:
        self._grid.setRowMinimumHeight(row, theme().px(ROW))
        self._grid.addWidget(widget, row, column)

    def _lines(
        self,
        columns: CaseColumns,
        cases: tuple[str | None, str | None],
        viewed: tuple[ViewedImage | None, ViewedImage | None],
    ) -> list[tuple[str, list[str | QWidget]]]:
        facts = [_facts(columns, case, one) for case, one in zip(cases, viewed, strict=True)]
        names = list(dict.fromkeys(name for found in facts for name in found))[:_MAX_ROWS]
        lines: list[tuple[str, list[str | QWidget]]] = [
            (tr("Finding"), [_finding(columns, case) for case in cases])
        ]
        lines += [(name, [found.get(name, "–") for found in facts]) for name in names]
        return lines


def _finding(columns: CaseColumns, case: str | None) -> str | QWidget:
    index = columns.index_of_id(case)
    finding = columns.finding_name(index) if index >= 0 else None
    if finding is None:
        return tr("not given")
    return FindingChip(int(columns.finding[index]), columns.letters[finding], finding)


def _facts(columns: CaseColumns, case: str | None, viewed: ViewedImage | None) -> dict[str, str]:
    index = columns.index_of_id(case)
    out: dict[str, str] = {}
    if index >= 0:
        out[tr("Patient")] = columns.patient_name(index) or tr("not known")
    if viewed is None:
        return out
    image, region = viewed.image, viewed.region
    width, height = image.width, image.height
    if image.spacing_mm is not None:
        down, across = image.spacing_mm
        out[tr("Size, mm")] = f"{_length(width * across)} × {_length(height * down)}"
        if region is not None:
            out[tr("Region, mm")] = f"{_length(region.width * across)} × {_length(region.height * down)}"
        out[tr("Spacing, mm")] = localise_number(
            f"{across:.4g}" if across == down else f"{across:.4g} × {down:.4g}"
        )
    else:
        out[tr("Size, px")] = localise_number(f"{width:,} × {height:,}")
        if region is not None:
            out[tr("Region, px")] = localise_number(f"{region.width:,} × {region.height:,}")
    if viewed.stack is not None:
        out[tr("Slices")] = str(viewed.stack.slices)
    if viewed.case is not None:
        for name, value in viewed.case.attributes.items():
            if name in _IDENTIFIERS:
                continue
            shown = date_name(viewed.case.date) if name == "date" else _shown(name, value)
            out[translate(attribute_title(name))] = shown
    # An image from outside has no attributes, and a case may have been imported before its marks were looked for.
    if viewed.marks:
        out[translate(attribute_title(MARKS_ATTRIBUTE))] = str(len(viewed.marks))
    return out


def _length(mm: float) -> str:
    """A length in mm, in tenths below 100 mm."""
    return format_number(mm, ".0f" if mm >= 100 else ".1f")


def _shown(name: str, value: str) -> str:
    """The ``value`` of the attribute ``name`` as people write it."""
    if name == "age":
        return _age(value)
    return localise_number(value) if _DECIMAL.fullmatch(value) else value


def _age(value: str) -> str:
    """A DICOM age, such as ``036Y``, as people write it; any other text as it is."""
    found = _AGE.fullmatch(value)
    if found is None:
        return value
    n, unit = int(found[1]), found[2]
    if unit == "Y":
        return tr_n("{n} year", "{n} years", n)
    if unit == "M":
        return tr_n("{n} month", "{n} months", n)
    return tr_n("{n} week", "{n} weeks", n) if unit == "W" else tr_n("{n} day", "{n} days", n)


def _label(text: str, role: str = "") -> QWidget:
    """A name, or a value, which is wrapped between its words. A value of a single long word is elided."""
    if role or " " in text:
        return WrappedLabel(text, role)
    label = ElidedLabel(text)
    label.set_tip(text)
    return label


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
        self.verticalHeader().setDefaultSectionSize(theme().px(FEATURE_ROW))
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
