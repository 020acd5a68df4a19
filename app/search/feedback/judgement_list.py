"""The judgements of a search, the newest first: the model, and the list with images, times and undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, overload

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.place_marks import draw_place
from semblance.app.widgets.text_cache import RIGHT, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.imaging.region import Region
from semblance.core.language import tr, translate
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.reports.formatting import region_text
from semblance.core.searches.feedback.influence import Influence
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, key_of_query
from semblance.core.searches.feedback.ledger import Contradiction, LedgerEntry
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import MatchedPlace

NONE = -1
#: The whole :class:`LedgerRow`.
ROW = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class LedgerRow:
    """A judgement for display; ``case`` and ``other`` are catalogue rows, -1 for none or a deleted case.

    ``names``: names of its case, the other case and its query. ``of_query``: it belongs to the current query.
    ``against``: the contradictions it is part of. ``place``: the region of its case that a mark is on, of which only
    the rectangle and, where it is known, the size of the image count.
    """

    entry: LedgerEntry
    case: int
    other: int
    names: tuple[str, str, str]
    of_query: bool
    against: tuple[Contradiction, ...] = ()
    place: MatchedPlace | None = None

    @property
    def id(self) -> int:
        return self.entry.id

    @property
    def judgement(self) -> Judgement:
        return self.entry.judgement

    @property
    def undone(self) -> bool:
        return self.entry.undone is not None

    @property
    def relation(self) -> str:
        """The judgement without its case, as in "like the query"."""
        one = self.judgement
        if one.kind == JudgementKind.CLOSER:
            return tr("closer than")
        if one.kind == JudgementKind.ALIKE:
            return tr("like {query}", query=self.query)
        return tr("not like {query}", query=self.query)

    @property
    def query(self) -> str:
        return tr("the query") if self.of_query else self.names[2]

    @property
    def sentence(self) -> str:
        """The whole judgement in one sentence."""
        case, other, _ = self.names
        if self.judgement.kind == JudgementKind.CLOSER:
            if self.of_query:
                return tr("{case} is closer to the query than {other}", case=case, other=other)
            return tr("{case} is closer to {query} than {other}", case=case, query=self.query, other=other)
        if self.place is not None:
            place = translate(region_text(self.place.region))
            return tr("{case} ({place}) is {relation}", case=case, place=place, relation=self.relation)
        return tr("{case} is {relation}", case=case, relation=self.relation)


class _LedgerSequence(Sequence[LedgerRow]):
    """Makes rows on demand: a ledger may have ten thousand entries, of which a dozen are visible."""

    def __init__(
        self,
        entries: Sequence[LedgerEntry],
        contradictions: Sequence[Contradiction],
        columns: CaseColumns,
        query: str,
        places: Mapping[str, MatchedPlace],
    ) -> None:
        self._entries, self._columns, self._query = entries[::-1], columns, query
        self._places = places
        self._cache: dict[int, LedgerRow] = {}
        self._against: dict[int, list[Contradiction]] = {}
        for one in contradictions:
            for key in one.entries:
                self._against.setdefault(key, []).append(one)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, place: int) -> LedgerRow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LedgerRow]: ...
    def __getitem__(self, place: int | slice) -> LedgerRow | Sequence[LedgerRow]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        at = place % len(self)
        if at not in self._cache:
            self._cache[at] = self._make_row(self._entries[at])
        return self._cache[at]

    def ids(self) -> list[int]:
        """Ids of all entries, without making their rows."""
        return [entry.id for entry in self._entries]

    def _make_row(self, entry: LedgerEntry) -> LedgerRow:
        one = entry.judgement
        names = (self._name(one.case), self._name(one.other), self._name(one.query))
        against = tuple(self._against.get(entry.id, ()))
        of_query = one.query_key == self._query
        place = None if one.place is None else self._place(Region.from_json(dict(one.place)), one.case)
        rows = self._columns.row_of_id(one.case), self._columns.row_of_id(one.other)
        return LedgerRow(entry, *rows, names, of_query, against, place)

    def _place(self, region: Region, case: str) -> MatchedPlace:
        known = self._places.get(case)
        size = (0, 0) if known is None else (known.image_width, known.image_height)
        number = None if region.z is None else region.z + 1
        return MatchedPlace(region.x, region.y, region.width, region.height, number, 0.0, *size)

    def _name(self, case: str | None) -> str:
        index = self._columns.index_of_id(case)
        return self._columns.name(index) if index >= 0 else _short_name(case or "")


class LedgerModel(QAbstractListModel):
    """The judgements of one search in rows, including undone ones."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = _LedgerSequence((), (), no_cases(), "", {})
        self._positions: dict[int, int] = {}
        #: How each judgement changes the ranking, as text, and in a short form for a row.
        self.influences: Mapping[int, str] = {}
        self.short_influences: Mapping[int, str] = {}

    def show(
        self,
        search: Search | None,
        entries: Sequence[LedgerEntry],
        contradictions: Sequence[Contradiction],
        columns: CaseColumns,
        places: Mapping[str, MatchedPlace] | None = None,
    ) -> None:
        """Show the ``entries`` of ``search`` and the ``contradictions`` among them. ``places``: by case id, where the
        search by place found its query."""
        key = key_of_query(search.query) if search is not None else ""
        rows = _LedgerSequence(entries, contradictions, columns, key, places or {})
        positions = {key: position for position, key in enumerate(rows.ids())}
        if list(positions) == list(self._positions):
            # The selection and the scroll position stay unchanged.
            self.rows = rows
            if len(rows):
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows, self._positions = rows, positions
        self.endResetModel()

    def show_influences(self, contradictions: Sequence[Influence], columns: CaseColumns, k: int) -> None:
        """Show how each judgement changes the first ``k`` ranks; hide it for an empty list."""
        self.influences = {one.entry: _influence(one, columns, k) for one in contradictions}
        self.short_influences = {one.entry: _short_influence(one, k) for one in contradictions}
        if len(self.rows):
            self.dataChanged.emit(self.index(0), self.index(len(self.rows) - 1))

    def place_of(self, entry: int) -> int:
        """The position of a judgement in the list, or -1."""
        return self._positions.get(entry, NONE)

    def row_of(self, entry: int) -> LedgerRow | None:
        place = self.place_of(entry)
        return self.rows[place] if place != NONE else None

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == ROW:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            state = tr(", undone") if row.undone else tr(", contradicts") if row.against else ""
            return f"{row.sentence}{state}"
        return None


def time_ago(time: str, now: datetime | None = None) -> str:
    """How long ago an ISO 8601 ``time`` was: "now", "4 min", "2 h", "3 d"; empty if it is not a time."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 45:
        return tr("now")
    if seconds < 3570:
        return tr("{n} min", n=max(1, round(seconds / 60)))
    if seconds < 36 * 3600:
        return tr("{n} h", n=round(seconds / 3600))
    return tr("{n} d", n=round(seconds / 86400))


def _short_influence(one: Influence, k: int) -> str:
    return tr("moves {n} of {k}", n=one.moved, k=k)


def _influence(one: Influence, columns: CaseColumns, k: int) -> str:
    if not one.moved:
        return tr("moves none of the first {k}", k=k)
    index = columns.index_of_row(one.most_moved)
    case = columns.name(index) if index >= 0 else tr("a deleted case")
    shift = f"{one.shift:+d}".replace("-", "\N{MINUS SIGN}")
    return tr("moves {n} of {k}, most {shift} ({case})", n=one.moved, k=k, shift=shift, case=case)


def _short_name(query: str) -> str:
    """The name of a query: for an image that is not in the library its file name."""
    return query.replace("\\", "/").rpartition("/")[2] or query


HEIGHT, IMAGE, EDGE = 40, 30, 12
#: Judgements visible in the lowest window.
MIN_ROWS = 4
#: How often the times are updated.
_MINUTE_MS = 30_000
#: Below this width no time is shown.
NARROW = 230
_ICONS = {JudgementKind.ALIKE: "plus", JudgementKind.NOT_ALIKE: "minus"}


class JudgementList(QListView):
    """Shows :class:`~semblance.app.search.feedback.judgement_list.LedgerModel`.

    ``undo_requested(ids)`` and ``redo_requested(ids)``: lists of entries, by the arrow, Delete or Enter ·
    ``chosen(id)``: the current judgement, -1 for none · ``case_requested(case_row)``: a double click.
    """

    undo_requested = Signal(object)
    redo_requested = Signal(object)
    chosen = Signal(int)
    case_requested = Signal(int)

    def __init__(self, rows: LedgerModel, thumbnails: ThumbnailSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._thumbnails = thumbnails
        #: Entries that contradict the current one.
        self.contradicting: frozenset[int] = frozenset()
        self.setModel(rows)
        self._delegate = _JudgementDelegate(self, thumbnails)
        self.setItemDelegate(self._delegate)
        set_look(self, bare=True)
        self.setUniformItemSizes(True)
        self.setLayoutMode(QListView.LayoutMode.Batched)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Marks, the newest first"))
        self._clock = QTimer(self)
        self._clock.setInterval(_MINUTE_MS)
        self._clock.timeout.connect(self.viewport().update)
        thumbnails.ready.connect(lambda _rows: self.viewport().update())
        self.selectionModel().currentChanged.connect(lambda *_: self._update_contradicting())
        rows.dataChanged.connect(lambda *_: self._update_contradicting())
        rows.modelReset.connect(self._update_contradicting)
        rows.modelReset.connect(self.updateGeometry)
        theme_signals.changed.connect(self._update_style)

    def current_row(self) -> LedgerRow | None:
        """The current judgement."""
        found: Any = self.currentIndex().data(ROW)
        return found if isinstance(found, LedgerRow) else None

    def influence(self, row: LedgerRow) -> str:
        """How a judgement changes the ranking, as text; empty if it was not requested."""
        return self._rows.influences.get(row.id, "")

    def short_influence(self, row: LedgerRow) -> str:
        """The short form, for a row."""
        return self._rows.short_influences.get(row.id, "")

    def arrow_rect(self, place: int) -> QRect:
        """The rectangle of the arrow of a row in the viewport; of the word Redo if it was undone."""
        return self._delegate.arrow_rect(self.visualRect(self._rows.index(place)), self._rows.rows[place])

    def toggle_undone(self, rows: list[LedgerRow]) -> None:
        """Undo these judgements; redo them if all are undone."""
        in_force = [row.id for row in rows if not row.undone]
        if in_force:
            self.undo_requested.emit(in_force)
        elif rows:
            self.redo_requested.emit([row.id for row in rows])

    def _update_contradicting(self) -> None:
        row = self.current_row()
        found = row.against if row is not None else ()
        ids = frozenset(key for one in found for key in one.entries) if row is not None else frozenset()
        self.contradicting = ids - ({row.id} if row is not None else set())
        self.viewport().update()
        self.chosen.emit(row.id if row is not None else NONE)

    def _update_style(self) -> None:
        self._delegate.clear_images()
        self.doItemsLayout()

    def showEvent(self, event: Any) -> None:
        self._clock.start()
        super().showEvent(event)

    def hideEvent(self, event: Any) -> None:
        self._clock.stop()
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            places = sorted({index.row() for index in self.selectedIndexes()})
            self.toggle_undone([self._rows.rows[place] for place in places])
        elif event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
        elif event.text().isprintable() and event.text():
            # Letters are shortcuts of the window; the list does not search by letter.
            event.ignore()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        position = event.position().toPoint()
        index = self.indexAt(position)
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            row = self._rows.rows[index.row()]
            if self.arrow_rect(index.row()).adjusted(-4, -4, 4, 4).contains(position):
                self.toggle_undone([row])
                return
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        position = event.position().toPoint()
        index = self.indexAt(position)
        if index.isValid() and not self.arrow_rect(index.row()).adjusted(-4, -4, 4, 4).contains(position):
            case = self._rows.rows[index.row()].case
            if case != NONE:
                self.case_requested.emit(case)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            position: QPoint = event.pos()  # type: ignore[attr-defined]
            index = self.indexAt(position)
            self.viewport().setToolTip(self.tip(self._rows.rows[index.row()]) if index.isValid() else "")
        return super().viewportEvent(event)

    def tip(self, row: LedgerRow) -> str:
        """The tooltip of a judgement, with the judgements that contradict it."""
        time = time_ago(row.judgement.time)
        lines = [f"{row.sentence}{f' ({time})' if time else ''}."]
        if self.influence(row):
            lines.append(self.influence(row) + ".")
        for one in row.against:
            others = [self._rows.row_of(key) for key in one.entries if key != row.id]
            lines += [
                tr("Contradicts, for {reason}:", reason=translate(one.reason)),
                *(other.sentence for other in others if other is not None),
            ]
        return plain_tip("\n".join(lines))

    def sizeHint(self) -> QSize:
        # The layout gives the remaining height, so that the widgets below stay visible.
        return QSize(280, self._minimum_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._minimum_height())

    def _minimum_height(self) -> int:
        return theme().px(HEIGHT) * min(MIN_ROWS, max(2, self._rows.rowCount()))


class _JudgementDelegate(QStyledItemDelegate):
    """Paints one judgement."""

    def __init__(self, view: JudgementList, thumbnails: ThumbnailSource) -> None:
        super().__init__(view)
        self._view, self._thumbnails = view, thumbnails
        self._images: dict[int, QPixmap] = {}
        thumbnails.ready.connect(self._remove_images)

    def clear_images(self) -> None:
        self._images.clear()

    def _remove_images(self, rows: frozenset[int]) -> None:
        for row in rows:
            self._images.pop(row, None)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, theme().px(HEIGHT))

    def arrow_rect(self, row_rect: QRect, row: LedgerRow) -> QRect:
        """The rectangle of the arrow, or of the word Redo, in a row drawn at ``row_rect``."""
        width, height = theme().px(16), theme().px(18)
        if row.undone:
            width = int(text_cache(BASE).width(tr("Redo"))) + 2
        return QRect(
            row_rect.right() + 1 - EDGE - width,
            row_rect.y() + (row_rect.height() - height) // 2,
            width,
            height,
        )

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row, tokens = index.data(ROW), theme()
        state, row_rect = option.state, option.rect
        self._draw_background(painter, row_rect, state, row)
        colour_name = tokens.disabled if row.undone else tokens.text
        side = tokens.px(IMAGE)
        x = row_rect.x() + EDGE
        self._draw_image(
            painter,
            row.case,
            QRect(x, row_rect.y() + (row_rect.height() - side) // 2, side, side),
            row.undone,
            row.place,
        )
        x += side + 10
        right = self._draw_time(painter, row_rect, row) - 8
        area = QRect(x, row_rect.y(), max(0, right - x), row_rect.height())
        if row.judgement.kind == JudgementKind.CLOSER:
            self._draw_comparison(painter, row, area, colour_name)
        else:
            self._draw_mark(painter, row, area, colour_name)

    def _draw_mark(self, painter: QPainter, row: LedgerRow, area: QRect, colour_name: str) -> None:
        tokens, size = theme(), theme().px(14)
        upper = QRect(area.x(), area.y() + 4, area.width(), (area.height() - 8) // 2)
        tint, fill = (tokens.disabled, "none") if row.undone else (tokens.accent, tokens.tool_on)
        icon = icon_pixmap(_ICONS[row.judgement.kind], size, tint, painter.device().devicePixelRatioF(), fill)
        painter.drawPixmap(QPoint(upper.x(), upper.center().y() - size // 2 + 1), icon)
        text_cache(BASE).draw(painter, upper.adjusted(size + 6, 0, 0, 0), row.relation, colour_name)
        lower = upper.translated(0, upper.height())
        if row.against:
            self._draw_flag(painter, lower)
        else:
            shade_name = tokens.disabled if row.undone else tokens.third
            text_cache(SMALL).draw(
                painter, lower, self._secondary_text(row, lower.width()), shade_name, middle=True
            )

    def _secondary_text(self, row: LedgerRow, width: int) -> str:
        """The name of the case; or how the judgement changes the ranking, in short if there is little space."""
        short, full = self._view.short_influence(row), self._view.influence(row)
        if not short:
            return row.names[0]
        return full if text_cache(SMALL).width(full) <= width else short

    def _draw_comparison(self, painter: QPainter, row: LedgerRow, area: QRect, colour_name: str) -> None:
        """The image of the other case follows the text."""
        base, side = text_cache(BASE), theme().px(IMAGE)
        short = self._view.short_influence(row)
        flag_width = 26 if row.against else 0
        needed = max(base.width(row.relation), text_cache(SMALL).width(short))
        text_width = max(0, min(int(needed) + 1, area.width() - side - 8 - flag_width))
        text_rect = QRect(area.x(), area.y(), text_width, area.height())
        if short:
            text_rect = QRect(area.x(), area.y() + 4, text_width, (area.height() - 8) // 2)
            below = text_rect.translated(0, text_rect.height())
            text_cache(SMALL).draw(painter, below, short, theme().disabled if row.undone else theme().third)
        base.draw(painter, text_rect, row.relation, colour_name)
        x = area.x() + text_width + 8
        square = QRect(x, area.y() + (area.height() - side) // 2, side, side)
        self._draw_image(painter, row.other, square, row.undone)
        rest = QRect(square.right() + 9, area.y(), max(0, area.right() - square.right() - 9), area.height())
        if row.against:
            self._draw_flag(painter, rest)

    def _draw_background(self, painter: QPainter, row_rect: QRect, state: Any, row: LedgerRow) -> None:
        tokens = theme()
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected or row.id in self._view.contradicting:
            painter.fillRect(row_rect, colour(tokens.selected if selected else tokens.card_hover))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(row_rect, colour(tokens.card_hover))
        painter.fillRect(
            QRect(row_rect.x() + EDGE, row_rect.bottom(), row_rect.width() - 2 * EDGE, 1), colour(tokens.line)
        )
        focused = state & QStyle.StateFlag.State_HasFocus and self._view.hasFocus()
        if focused or row.id in self._view.contradicting:
            painter.fillRect(QRect(row_rect.x(), row_rect.y(), 2, row_rect.height()), colour(tokens.accent))

    def _draw_time(self, painter: QPainter, row_rect: QRect, row: LedgerRow) -> int:
        """Draw the arrow and the time; returns where they begin, px."""
        tokens, base = theme(), text_cache(BASE)
        arrow_rect = self.arrow_rect(row_rect, row)
        if row.undone:
            base.draw(painter, arrow_rect, tr("Redo"), tokens.second)
        else:
            ratio = painter.device().devicePixelRatioF()
            side = min(tokens.px(16), arrow_rect.width(), arrow_rect.height())
            icon = icon_pixmap("undo", side, tokens.second, ratio)
            painter.drawPixmap(
                QPoint(arrow_rect.x(), arrow_rect.y() + (arrow_rect.height() - side) // 2), icon
            )
        has_flag = row.against and row.judgement.kind == JudgementKind.CLOSER
        if has_flag or self._view.short_influence(row) or row_rect.width() < tokens.px(NARROW):
            # The space is needed for the judgement; the tooltip shows the time.
            return arrow_rect.x()
        time = tr("undone") if row.undone else time_ago(row.judgement.time)
        width = int(text_cache(SMALL).width(time)) + 2
        rect = QRect(arrow_rect.x() - 10 - width, row_rect.y(), width, row_rect.height())
        text_cache(SMALL).draw(painter, rect, time, tokens.disabled if row.undone else tokens.third, RIGHT)
        return rect.x()

    def _draw_flag(self, painter: QPainter, rect: QRect) -> None:
        tokens = theme()
        side = tokens.px(14)
        icon = icon_pixmap("warning", side, tokens.text, painter.device().devicePixelRatioF())
        painter.drawPixmap(QPoint(rect.x(), rect.center().y() - side // 2 + 1), icon)
        label, small = tr("contradicts"), text_cache(SMALL)
        if small.width(label) <= rect.width() - side - 4:
            small.draw(painter, rect.adjusted(side + 4, 0, 0, 0), label, tokens.text)

    def _draw_image(
        self,
        painter: QPainter,
        case_row: int,
        square: QRect,
        undone: bool,
        place: MatchedPlace | None = None,
    ) -> None:
        ratio = painter.device().devicePixelRatioF()
        drawn = self._images.get(case_row)
        if drawn is None and case_row != NONE:
            image = self._thumbnails.get(case_row)
            if image is not None:
                size = max(1, round(square.width() * ratio))
                scaled = image.scaled(
                    size,
                    size,
                    Qt.AspectRatioMode.KeepAspectRatio,
                    Qt.TransformationMode.SmoothTransformation,
                )
                drawn = QPixmap.fromImage(scaled)
                drawn.setDevicePixelRatio(ratio)
                if len(self._images) > 500:
                    self._images.clear()
                self._images[case_row] = drawn
        painter.fillRect(square, colour(theme().image_well))
        if drawn is not None:
            width, height = drawn.width() / ratio, drawn.height() / ratio
            painter.setOpacity(0.45 if undone else 1.0)
            left = square.x() + round((square.width() - width) / 2)
            top = square.y() + round((square.height() - height) / 2)
            painter.drawPixmap(QPoint(left, top), drawn)
            draw_place(painter, place, QRectF(left, top, width, height))
            painter.setOpacity(1.0)
