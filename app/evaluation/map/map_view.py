"""The map of a library: every case a point, to look at, choose and take hold of by a line around them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.evaluation.map.map_markers import Marks
from semblance.app.evaluation.map.map_points import NONE, MapPoints, Points, Rows, Seen
from semblance.app.evaluation.map.map_raster import draw_points, shape_of, width_for
from semblance.app.shell.theme import colour, finding_colour, theme, theme_signals
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, no_cases

#: A point is meant from this far, and a press becomes a line after so many pixels.
REACH, _DRAWS_FROM = 14, 5
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
#: The keyboard comes by keys or a command; by the mouse or with the window it tells nothing of a case.
_BY_KEYS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
)


class MapView(QWidget):
    """Signals speak of catalogue rows: ``chosen(row)`` click or arrow key · ``activated(row)`` double click
    or Enter · ``picked(rows)`` by a line drawn around them, Space or Ctrl+A; an empty array for none ·
    ``menu_requested(row, position)``.

    The wheel zooms, the middle button or Ctrl and drag moves; 0 shows all.
    """

    chosen = Signal(int)
    activated = Signal(int)
    picked = Signal(object)
    menu_requested = Signal(int, QPoint)

    def __init__(self, thumbnails: ThumbnailSource | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: CaseColumns = no_cases()
        self._points = MapPoints(np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.float32))
        self._kind = np.empty(0, dtype=np.int16)
        self._order = np.empty(0, dtype=np.int64)
        self._marks = Marks(self, thumbnails)
        #: ``_looked``: a person chose what is seen.
        self._seen: Seen | None = None
        self._looked = False
        self._image: QImage | None = None
        self._faded: npt.NDArray[np.bool_] | None = None
        self._only: frozenset[int] | None = None
        self._marked: Rows | None = None
        self._stale = False
        self._press: QPointF | None = None
        self._moving = False
        self._line: list[QPointF] = []
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setAccessibleName(tr("Map of the library"))
        theme_signals.changed.connect(self.redraw)

    # What is shown

    def set_cases(self, columns: CaseColumns, rows: Rows, places: Points) -> None:
        """The map: cases by catalogue row at (n, 2) places. A chosen view stays while the cases do."""
        same = np.array_equal(rows, self._points.rows) and self._seen is not None and self._looked
        self._columns = columns
        self._points = MapPoints(rows, places)
        self._kind = np.full(len(rows), NO_FINDING, dtype=np.int16)
        at = columns.indices_of_rows(rows)
        self._kind[at >= 0] = columns.finding[at[at >= 0]]
        # No finding lies on top of another because of where it stands in the library.
        if len(self._order) != len(rows):
            self._order = np.random.default_rng(0).permutation(len(rows))
        if not same:
            self._seen, self._looked = None, False
        self._fade()
        self._tell()

    def set_ranking(self, query: int, ranked: Sequence[int]) -> None:
        """The query's row (-1: from outside) and the rows of its nearest, nearest first."""
        self._marks.query, self._marks.ranked = query, list(ranked)
        self.update()

    def set_current(self, row: int) -> None:
        """The case that is current elsewhere; -1 for none."""
        if row != self._marks.current:
            self._marks.current = row
            self._tell()
            self.update()

    def current(self) -> int:
        return self._marks.current

    def hovered(self) -> int:
        return self._marks.hover

    def set_marked(self, rows: Collection[int] | Rows | None) -> None:
        """Let these stand out and the others fade; ``None`` for all alike."""
        self._marked = None if rows is None else np.asarray(list(rows), dtype=np.int64)
        self._fade()

    def set_only(self, findings: Collection[int] | None) -> None:
        """Show only these findings, by code; ``None`` for all."""
        self._only = None if findings is None else frozenset(findings)
        self._fade()

    def set_stale(self, stale: bool) -> None:
        """Whether this is the map of another metric than the present one."""
        self._stale = stale
        self.update()

    @property
    def points(self) -> MapPoints:
        """The points as they are seen now."""
        self._look()
        return self._points

    @property
    def drawn(self) -> npt.NDArray[np.bool_]:
        """(n,) the points that can be chosen."""
        if self._only is None:
            return np.ones(len(self._points), dtype=np.bool_)
        return np.isin(self._kind, list(self._only))

    def redraw(self) -> None:
        """Draw the points anew at the next chance."""
        self._image = None
        self.update()

    def show_all(self) -> None:
        """Every point in view."""
        self._seen, self._looked = None, False
        self.redraw()

    def look(self, seen: Seen) -> None:
        self._seen, self._looked = seen, True
        self.redraw()

    def _fade(self) -> None:
        self._faded = None
        if self._marked is not None:
            self._faded = ~np.isin(self._points.rows, self._marked)
        self.redraw()

    def _look(self) -> Seen:
        seen = self._seen
        if seen is None or (seen.width, seen.height) != (self.width(), self.height()):
            if seen is None or not self._looked:
                seen = Seen.all_of(self._points.places, self.width(), self.height())
            else:
                seen = Seen(seen.x, seen.y, seen.unit, self.width(), self.height())
            self._image = None
        if seen is not self._seen or self._image is None:
            self._seen = seen
            self._points.look(seen)
        return seen

    # Painting

    def sizeHint(self) -> QSize:
        return QSize(480, 200)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 80)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.redraw()

    def paintEvent(self, event: QPaintEvent) -> None:
        self._look()
        if self._image is None:
            self._image = self._draw()
        painter = QPainter(self)
        painter.drawImage(0, 0, self._image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._stale:
            painter.fillRect(self.rect(), colour(theme().panel, 0.45))
        self._marks.paint(painter, self._columns, self._points)
        if len(self._line) > 1:
            painter.setPen(colour(theme().accent))
            painter.setBrush(colour(theme().accent, 0.12))
            painter.drawPolygon(QPolygonF(self._line))
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(colour(theme().accent))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _draw(self) -> QImage:
        ratio = self.devicePixelRatioF()
        size = (max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio)))
        codes = max(len(self._columns.findings), 1)
        shades = [QColor(finding_colour(code)) for code in [*range(codes), NO_FINDING]]
        colours = np.array([[c.red(), c.green(), c.blue()] for c in shades], dtype=np.uint8)
        shapes = tuple(shape_of(code) for code in [*range(codes), NO_FINDING])
        order = self._order if self._only is None else self._order[self.drawn[self._order]]
        kind = np.where(self._kind < 0, codes, self._kind).astype(np.int16)[order]
        pixels = self._points.pixels[order] * np.float32(ratio)
        back = QColor(theme().panel)
        drawn = draw_points(
            size,
            pixels[:, 0],
            pixels[:, 1],
            kind,
            colours,
            shapes,
            width_for(len(self._points), theme().text_scale ** 0.5 * ratio),
            (back.red(), back.green(), back.blue()),
            None if self._faded is None else self._faded[order],
        )
        image = QImage(drawn.data, size[0], size[1], size[0] * 4, QImage.Format.Format_RGB32).copy()
        image.setDevicePixelRatio(ratio)
        return image

    # Choosing

    def _choose(self, place: int) -> None:
        if place != NONE:
            row = int(self._points.rows[place])
            self._marks.current, self._marks.tells_current = row, True
            self._tell()
            self.update()
            self.chosen.emit(row)

    def _pick(self, inside: npt.NDArray[np.bool_], *, more: bool = False) -> None:
        rows = self._points.rows[inside & self.drawn]
        if more and self._marked is not None:
            rows = np.union1d(self._marked, rows)
        self.picked.emit(rows)

    def _tell(self) -> None:
        count = tr("{n:,} cases", n=len(self._points))
        words = self._marks.words(self._columns, self._marks.current)
        self.setAccessibleDescription(f"{count}; {words or tr('arrow keys choose one')}")

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._press = event.position()
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        self._moving = event.button() == Qt.MouseButton.MiddleButton or bool(control)
        if self._moving:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._press is None:
            self._set_hover(self.points.nearest(at.x(), at.y(), REACH, self.drawn))
        elif self._moving:
            self.look(self._look().moved(at.x() - self._press.x(), at.y() - self._press.y()))
            self._press = at
        elif event.buttons() & Qt.MouseButton.LeftButton:
            if not self._line and (at - self._press).manhattanLength() >= _DRAWS_FROM:
                self._line = [self._press]
                self._set_hover(NONE)
                # What is drawn around is looked at now, not a case chosen before.
                self._marks.tells_current = False
            if self._line:
                self._line.append(at)
                self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setCursor(Qt.CursorShape.CrossCursor)
        line, moving, self._line, self._moving = self._line, self._moving, [], False
        pressed, self._press = self._press, None
        if moving or pressed is None or event.button() != Qt.MouseButton.LeftButton:
            return
        more = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if line:
            outline = np.array([(point.x(), point.y()) for point in line], dtype=np.float32)
            self._pick(self.points.inside(outline), more=more)
            self.update()
        else:
            self._choose(self.points.nearest(pressed.x(), pressed.y(), REACH, self.drawn))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self.points.nearest(event.position().x(), event.position().y(), REACH, self.drawn)
        if event.button() == Qt.MouseButton.LeftButton and place != NONE:
            self.activated.emit(int(self._points.rows[place]))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._press, where = None, event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            place = self.points.place_of(self._marks.current)
            if place != NONE:
                where = self.mapToGlobal(QPointF(*self._points.pixels[place].tolist()).toPoint())
        else:
            place = self.points.nearest(event.pos().x(), event.pos().y(), REACH, self.drawn)
        if place != NONE:
            self.menu_requested.emit(int(self._points.rows[place]), where)

    def wheelEvent(self, event: QWheelEvent) -> None:
        steps = event.angleDelta().y() / 120
        at = event.position()
        self.look(self._look().zoomed(1.25**steps, at.x(), at.y()))
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(NONE)

    def _set_hover(self, place: int) -> None:
        row = NONE if place == NONE else int(self._points.rows[place])
        if row != self._marks.hover:
            self._marks.hover = row
            self.update()

    # Keyboard

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() in _BY_KEYS:
            self._marks.tells_current = True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, middle = Qt.Key(event.key()), (self.width() / 2, self.height() / 2)
        row = self._marks.current
        if key in _ARROWS:
            self._go(*_ARROWS[key], move=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.look(self._look().zoomed(1.25, *middle))
        elif key == Qt.Key.Key_Minus:
            self.look(self._look().zoomed(0.8, *middle))
        elif key == Qt.Key.Key_0:
            self.show_all()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row != NONE:
            self.activated.emit(row)
        elif key == Qt.Key.Key_Space and row != NONE:
            before = np.empty(0, dtype=np.int64) if self._marked is None else self._marked
            self.picked.emit(np.setxor1d(before, [row]))
        elif key == Qt.Key.Key_A and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            at = self.points.pixels
            within = (at >= 0).all(axis=1) & (at[:, 0] <= self.width()) & (at[:, 1] <= self.height())
            self._pick(within)
        elif key == Qt.Key.Key_Escape and self._marked is not None:
            self.picked.emit(np.empty(0, dtype=np.int64))
        else:
            super().keyPressEvent(event)

    def _go(self, right: int, down: int, *, move: bool) -> None:
        if move:
            self.look(self._look().moved(-40 * right, -40 * down))
            return
        points = self.points
        place = points.place_of(self._marks.current)
        if place == NONE:
            place = points.place_of(self._marks.query)
        if place == NONE:
            self._choose(points.nearest(self.width() / 2, self.height() / 2, 1e9, self.drawn))
            return
        x, y = points.pixels[place].tolist()
        self._choose(points.beside(x, y, right, down, self.drawn))
        self._follow()

    def _follow(self) -> None:
        """Keep the current case in view."""
        place = self._points.place_of(self._marks.current)
        if place == NONE:
            return
        x, y = self.points.pixels[place].tolist()
        right = min(0.0, self.width() - 20 - x) + max(0.0, 20 - x)
        down = min(0.0, self.height() - 20 - y) + max(0.0, 20 - y)
        if right or down:
            self.look(self._look().moved(right, down))
