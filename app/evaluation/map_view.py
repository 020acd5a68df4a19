"""The map of a library: each case is a point that can be selected."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.evaluation.map_points import (
    NONE,
    MapPoints,
    MapViewport,
    Points,
    Rows,
    draw_points,
    point_width,
    shape_of,
)
from semblance.app.shell.theme import BASE, SMALL, TICK, colour, finding_colour, theme, theme_signals
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, ImageAvailability, no_cases

#: Pixels within which a click hits a point, and after which a press becomes a drag.
HIT_RADIUS, _DRAG_THRESHOLD = 14, 5
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
#: The focus came by keys or a command: the card of the current case is shown.
_KEYBOARD_REASONS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
)


class MapView(QWidget):
    """The signals have catalogue rows: ``chosen(row)`` click or arrow key · ``activated(row)`` double click
    or Enter · ``selected(rows)`` by an outline drawn around them, Space or Ctrl+A, empty for none ·
    ``menu_requested(row, position)``.

    The wheel zooms, dragging with the middle button or Ctrl pans, and 0 shows all.
    """

    chosen = Signal(int)
    activated = Signal(int)
    selected = Signal(object)
    menu_requested = Signal(int, QPoint)

    def __init__(self, thumbnails: ThumbnailSource | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: CaseColumns = no_cases()
        self._points = MapPoints(np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.float32))
        self._finding_codes = np.empty(0, dtype=np.int16)
        self._order = np.empty(0, dtype=np.int64)
        self.markers = MapMarkers(self, thumbnails)
        #: ``_is_viewport_set``: the user has zoomed or panned.
        self._viewport: MapViewport | None = None
        self._is_viewport_set = False
        self._image: QImage | None = None
        self.faded: npt.NDArray[np.bool_] | None = None
        self._shown_findings: frozenset[int] | None = None
        self._highlighted: Rows | None = None
        self._stale = False
        self._press_position: QPointF | None = None
        self._is_panning = False
        self._outline: list[QPointF] = []
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setAccessibleName(tr("Map of the library"))
        theme_signals.changed.connect(self.redraw)

    # Content

    def set_cases(self, columns: CaseColumns, rows: Rows, positions: Points) -> None:
        """Show cases by catalogue row at (n, 2) positions. Zoom and pan stay if the cases are the same."""
        is_same = (
            np.array_equal(rows, self._points.rows) and self._viewport is not None and self._is_viewport_set
        )
        self._columns = columns
        self._points = MapPoints(rows, positions)
        self._finding_codes = np.full(len(rows), NO_FINDING, dtype=np.int16)
        indices = columns.indices_of_rows(rows)
        self._finding_codes[indices >= 0] = columns.finding[indices[indices >= 0]]
        # A random order, so that the order in the library does not put one finding over the others.
        if len(self._order) != len(rows):
            self._order = np.random.default_rng(0).permutation(len(rows))
        if not is_same:
            self._viewport, self._is_viewport_set = None, False
        self._update_faded()
        self._update_description()

    def set_ranking(self, query: int, ranked: Sequence[int]) -> None:
        """The row of the query (-1: not in the library) and the rows of its similar cases, nearest first."""
        self.markers.query, self.markers.ranked = query, list(ranked)
        self.update()

    def set_current(self, row: int) -> None:
        """Set the current case without emitting a signal; -1 for none."""
        if row != self.markers.current:
            self.markers.current = row
            self._update_description()
            self.update()

    def current(self) -> int:
        return self.markers.current

    def hovered(self) -> int:
        return self.markers.hover

    def highlight(self, rows: Collection[int] | Rows | None) -> None:
        """Show all other points faded; ``None`` fades none."""
        self._highlighted = None if rows is None else np.asarray(list(rows), dtype=np.int64)
        self._update_faded()

    def show_findings_only(self, findings: Collection[int] | None) -> None:
        """Show only the findings with these codes; ``None`` for all."""
        self._shown_findings = None if findings is None else frozenset(findings)
        self._update_faded()

    def set_stale(self, stale: bool) -> None:
        """Set whether the map was computed with another metric or for other cases."""
        self._stale = stale
        self.update()

    @property
    def points(self) -> MapPoints:
        """The points in pixels of the present viewport."""
        self._current_viewport()
        return self._points

    @property
    def selectable(self) -> npt.NDArray[np.bool_]:
        """(n,) whether each point is shown and can be selected."""
        if self._shown_findings is None:
            return np.ones(len(self._points), dtype=np.bool_)
        return np.isin(self._finding_codes, list(self._shown_findings))

    def redraw(self) -> None:
        """Draw the points again at the next paint event."""
        self._image = None
        self.update()

    def show_all(self) -> None:
        """Show all points."""
        self._viewport, self._is_viewport_set = None, False
        self.redraw()

    def set_viewport(self, viewport: MapViewport) -> None:
        self._viewport, self._is_viewport_set = viewport, True
        self.redraw()

    def _update_faded(self) -> None:
        self.faded = None
        if self._highlighted is not None:
            self.faded = ~np.isin(self._points.rows, self._highlighted)
        self.redraw()

    def _current_viewport(self) -> MapViewport:
        viewport = self._viewport
        if viewport is None or (viewport.width, viewport.height) != (self.width(), self.height()):
            if viewport is None or not self._is_viewport_set:
                viewport = MapViewport.showing_all(self._points.positions, self.width(), self.height())
            else:
                viewport = MapViewport(viewport.x, viewport.y, viewport.unit, self.width(), self.height())
            self._image = None
        if viewport is not self._viewport or self._image is None:
            self._viewport = viewport
            self._points.project(viewport)
        return viewport

    # Painting

    def sizeHint(self) -> QSize:
        return QSize(480, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 80)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.redraw()

    def paintEvent(self, event: QPaintEvent) -> None:
        self._current_viewport()
        if self._image is None:
            self._image = self._draw()
        painter = QPainter(self)
        painter.drawImage(0, 0, self._image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._stale:
            painter.fillRect(self.rect(), colour(theme().panel, 0.45))
        self.markers.paint(painter, self._columns, self._points)
        if len(self._outline) > 1:
            painter.setPen(colour(theme().accent))
            painter.setBrush(colour(theme().accent, 0.12))
            painter.drawPolygon(QPolygonF(self._outline))
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(colour(theme().accent))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _draw(self) -> QImage:
        ratio = self.devicePixelRatioF()
        size = (max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio)))
        codes = max(len(self._columns.findings), 1)
        finding_colours = [QColor(finding_colour(code)) for code in [*range(codes), NO_FINDING]]
        colours = np.array([[c.red(), c.green(), c.blue()] for c in finding_colours], dtype=np.uint8)
        shapes = tuple(shape_of(code) for code in [*range(codes), NO_FINDING])
        order = self._order if self._shown_findings is None else self._order[self.selectable[self._order]]
        kind = np.where(self._finding_codes < 0, codes, self._finding_codes).astype(np.int16)[order]
        pixels = self._points.pixels[order] * np.float32(ratio)
        background = QColor(theme().panel)
        pixels_drawn = draw_points(
            size,
            pixels[:, 0],
            pixels[:, 1],
            kind,
            colours,
            shapes,
            point_width(len(self._points), theme().text_scale ** 0.5 * ratio),
            (background.red(), background.green(), background.blue()),
            None if self.faded is None else self.faded[order],
        )
        image = QImage(pixels_drawn.data, size[0], size[1], size[0] * 4, QImage.Format.Format_RGB32).copy()
        image.setDevicePixelRatio(ratio)
        return image

    # Selection

    def _set_current(self, index: int) -> None:
        if index != NONE:
            row = int(self._points.rows[index])
            self.markers.current, self.markers.shows_current_card = row, True
            self._update_description()
            self.update()
            self.chosen.emit(row)

    def _select(self, inside: npt.NDArray[np.bool_], *, add: bool = False) -> None:
        rows = self._points.rows[inside & self.selectable]
        if add and self._highlighted is not None:
            rows = np.union1d(self._highlighted, rows)
        self.selected.emit(rows)

    def _update_description(self) -> None:
        case_count = tr("{n:,} cases", n=len(self._points))
        description = self.markers.description(self._columns, self.markers.current)
        self.setAccessibleDescription(f"{case_count}; {description or tr('arrow keys choose one')}")

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press_position = event.position()
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        self._is_panning = event.button() == Qt.MouseButton.MiddleButton or bool(control)
        if self._is_panning:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        position = event.position()
        if self._press_position is None:
            self._set_hover(self.points.nearest(position.x(), position.y(), HIT_RADIUS, self.selectable))
        elif self._is_panning:
            self.set_viewport(
                self._current_viewport().panned(
                    position.x() - self._press_position.x(), position.y() - self._press_position.y()
                )
            )
            self._press_position = position
        elif event.buttons() & Qt.MouseButton.LeftButton:
            if not self._outline and (position - self._press_position).manhattanLength() >= _DRAG_THRESHOLD:
                self._outline = [self._press_position]
                self._set_hover(NONE)
                # While an outline is drawn, the card of the current case is hidden.
                self.markers.shows_current_card = False
            if self._outline:
                self._outline.append(position)
                self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setCursor(Qt.CursorShape.CrossCursor)
        outline, is_panning, self._outline, self._is_panning = self._outline, self._is_panning, [], False
        press_position, self._press_position = self._press_position, None
        if is_panning or press_position is None or event.button() != Qt.MouseButton.LeftButton:
            return
        add = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if outline:
            corners = np.array([(point.x(), point.y()) for point in outline], dtype=np.float32)
            self._select(self.points.inside(corners), add=add)
            self.update()
        else:
            self._set_current(
                self.points.nearest(press_position.x(), press_position.y(), HIT_RADIUS, self.selectable)
            )

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.points.nearest(event.position().x(), event.position().y(), HIT_RADIUS, self.selectable)
        if event.button() == Qt.MouseButton.LeftButton and index != NONE:
            self.activated.emit(int(self._points.rows[index]))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._press_position, position = None, event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self.points.index_of_row(self.markers.current)
            if index != NONE:
                position = self.mapToGlobal(QPointF(*self._points.pixels[index].tolist()).toPoint())
        else:
            index = self.points.nearest(event.pos().x(), event.pos().y(), HIT_RADIUS, self.selectable)
        if index != NONE:
            self.menu_requested.emit(int(self._points.rows[index]), position)

    def wheelEvent(self, event: QWheelEvent) -> None:
        steps = event.angleDelta().y() / 120
        position = event.position()
        self.set_viewport(self._current_viewport().zoomed(1.25**steps, position.x(), position.y()))
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(NONE)

    def _set_hover(self, index: int) -> None:
        row = NONE if index == NONE else int(self._points.rows[index])
        if row != self.markers.hover:
            self.markers.hover = row
            self.update()

    # Keyboard

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in _KEYBOARD_REASONS:
            self.markers.shows_current_card = True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, middle = Qt.Key(event.key()), (self.width() / 2, self.height() / 2)
        row = self.markers.current
        if key in _ARROWS:
            self._move_current(*_ARROWS[key], pan=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.set_viewport(self._current_viewport().zoomed(1.25, *middle))
        elif key == Qt.Key.Key_Minus:
            self.set_viewport(self._current_viewport().zoomed(0.8, *middle))
        elif key == Qt.Key.Key_0:
            self.show_all()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row != NONE:
            self.activated.emit(row)
        elif key == Qt.Key.Key_Space and row != NONE:
            highlighted = np.empty(0, dtype=np.int64) if self._highlighted is None else self._highlighted
            self.selected.emit(np.setxor1d(highlighted, [row]))
        elif key == Qt.Key.Key_A and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            pixels = self.points.pixels
            x, y = pixels.T
            self._select((x >= 0) & (x <= self.width()) & (y >= 0) & (y <= self.height()))
        elif key == Qt.Key.Key_Escape and self._highlighted is not None:
            self.selected.emit(np.empty(0, dtype=np.int64))
        else:
            super().keyPressEvent(event)

    def _move_current(self, dx: int, dy: int, *, pan: bool) -> None:
        if pan:
            self.set_viewport(self._current_viewport().panned(-40 * dx, -40 * dy))
            return
        points = self.points
        index = points.index_of_row(self.markers.current)
        if index == NONE:
            index = points.index_of_row(self.markers.query)
        if index == NONE:
            self._set_current(points.nearest(self.width() / 2, self.height() / 2, 1e9, self.selectable))
            return
        x, y = points.pixels[index].tolist()
        self._set_current(points.nearest_in_direction(x, y, dx, dy, self.selectable))
        self._scroll_to_current()

    def _scroll_to_current(self) -> None:
        """Scroll so that the current case is visible."""
        index = self._points.index_of_row(self.markers.current)
        if index == NONE:
            return
        x, y = self.points.pixels[index].tolist()
        dx = min(0.0, self.width() - 20 - x) + max(0.0, 20 - x)
        dy = min(0.0, self.height() - 20 - y) + max(0.0, 20 - y)
        if dx or dy:
            self.set_viewport(self._current_viewport().panned(dx, dy))


#: Number of similar cases with a ring, and with their rank as text.
RING_COUNT, NUMBER_COUNT = 20, 10
#: Number of similar cases between which a query from outside the library is drawn.
_ANCHOR_COUNT = 3
_THUMBNAIL_SIZE = 96


class MapMarkers:
    """Paints the markers on ``view``. Rows are those of the catalogue, -1 for none."""

    def __init__(self, view: QWidget, thumbnails: ThumbnailSource | None) -> None:
        self._view, self._thumbnails = view, thumbnails
        self.query = self.current = self.hover = NONE
        #: Whether the current case has a card while the map has the focus and no case is under the pointer.
        self.shows_current_card = False
        self.ranked: list[int] = []
        if thumbnails is not None:
            thumbnails.ready.connect(lambda _rows: view.update())

    def description(self, columns: CaseColumns, row: int) -> str:
        """A text that describes a case, for screen readers."""
        index = columns.index_of_row(row)
        if index < 0:
            return ""
        parts = [columns.ids[index], columns.finding_name(index) or tr("finding not given")]
        if row == self.query:
            parts.append(tr("the query"))
        elif row in self.ranked:
            parts.append(tr("rank {rank}", rank=self.ranked.index(row) + 1))
        return ", ".join(parts)

    def paint(self, painter: QPainter, columns: CaseColumns, points: MapPoints) -> None:
        """Paint the rings and the card over the points."""
        for rank, row in reversed(list(enumerate(self.ranked[:RING_COUNT], start=1))):
            index = points.index_of_row(row)
            if index == NONE:
                continue
            position = QPointF(*points.pixels[index].tolist())
            self._draw_ring(painter, position, 7, theme().text, 1.4)
            if rank <= NUMBER_COUNT:
                self._draw_number(painter, position, rank)
        query_position = self._query_position(points)
        if query_position is not None:
            self._draw_ring(painter, query_position, 11, theme().text, 2.0)
            self._draw_ring(painter, query_position, 5, theme().text, 2.0)
        current = points.index_of_row(self.current)
        if current != NONE:
            self._draw_ring(painter, QPointF(*points.pixels[current].tolist()), 9, theme().accent, 2.2)
        card_index = points.index_of_row(self.hover)
        if card_index == NONE and self.shows_current_card and self._view.hasFocus():
            card_index = current
        if card_index != NONE:
            self._draw_card(painter, columns, points, card_index)

    def _query_position(self, points: MapPoints) -> QPointF | None:
        """The position of the query. A query from outside the library lies between its similar cases."""
        index = points.index_of_row(self.query)
        if index != NONE:
            return QPointF(*points.pixels[index].tolist())
        anchors = [
            index for row in self.ranked[:_ANCHOR_COUNT] if (index := points.index_of_row(row)) != NONE
        ]
        return QPointF(*points.pixels[anchors].mean(axis=0).tolist()) if anchors else None

    @staticmethod
    def _draw_ring(
        painter: QPainter, position: QPointF, radius: float, colour_name: str, width: float
    ) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(theme().panel), width + 2))
        painter.drawEllipse(position, radius, radius)
        painter.setPen(QPen(colour(colour_name), width))
        painter.drawEllipse(position, radius, radius)

    @staticmethod
    def _draw_number(painter: QPainter, position: QPointF, rank: int) -> None:
        height = theme().px(14)
        rect = QRect(round(position.x()) + 8, round(position.y()) - height, theme().px(18), height)
        text = text_cache(TICK, 600)
        painter.fillRect(
            QRectF(rect.x() - 1, rect.y() + 2, text.width(str(rank)) + 2, height - 4),
            colour(theme().panel, 0.7),
        )
        text.draw(painter, rect, str(rank), theme().text)

    def _draw_card(self, painter: QPainter, columns: CaseColumns, points: MapPoints, index: int) -> None:
        row, view, tokens = int(points.rows[index]), self._view, theme()
        index = columns.index_of_row(row)
        if index < 0:
            return
        code = int(columns.finding[index])
        name, finding = columns.name(index), columns.finding_name(index) or tr("finding not given")
        line_height, padding = tokens.px(18), 6
        side = max(32, min(tokens.px(_THUMBNAIL_SIZE), view.height() - 2 * line_height - 3 * padding - 8))
        width = (
            max(side, min(tokens.px(200), int(text_cache(SMALL).width(name)) + 4), tokens.px(150))
            + 2 * padding
        )
        height = side + 2 * line_height + 2 * padding
        x, y = points.pixels[index].tolist()
        left = x + 16 if x + 16 + width <= view.width() else x - 16 - width
        top = min(max(4, y - height / 2), view.height() - height - 4)
        box = QRect(round(max(4, left)), round(top), width, height)
        painter.setPen(colour(tokens.strong_line))
        painter.setBrush(colour(tokens.bar))
        painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        image_rect = QRect(box.x() + padding, box.y() + padding, box.width() - 2 * padding, side)
        painter.fillRect(image_rect, colour(tokens.image_well))
        image = None
        if self._thumbnails is not None and columns.state[index] == ImageAvailability.OK:
            image = self._thumbnails.get(row)
        if image is not None:
            size = image.size().scaled(image_rect.size(), Qt.AspectRatioMode.KeepAspectRatio)
            corner = QPointF(
                image_rect.x() + (image_rect.width() - size.width()) / 2,
                image_rect.y() + (side - size.height()) / 2,
            )
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRectF(corner, size.toSizeF()), image)
        text_rect = QRect(image_rect.x(), image_rect.bottom() + 3, image_rect.width(), line_height)
        letter = "?" if code == NO_FINDING else columns.letters[finding]
        chip_size = tokens.px(SIDE)
        painter.drawPixmap(
            text_rect.x(),
            text_rect.y() + (line_height - chip_size) // 2,
            chip_pixmap(code, letter, view.devicePixelRatioF()),
        )
        rank = ", " + tr("rank {rank}", rank=self.ranked.index(row) + 1) if row in self.ranked else ""
        rank = ", " + tr("the query") if row == self.query else rank
        text_cache(BASE).draw(
            painter, text_rect.adjusted(chip_size + 5, 0, 0, 0), finding + rank, tokens.text
        )
        text_cache(SMALL).draw(
            painter, text_rect.translated(0, line_height), name, tokens.second, middle=True
        )
