"""The polygon and lasso tools."""

from __future__ import annotations

from math import ceil, floor, hypot

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPainterPath, QPolygonF

from semblance.app.shell.theme import theme
from semblance.app.viewer.region_painting import stroke
from semblance.app.viewer.viewport import Viewport
from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.region import Region

#: Widget pixels: distance from the first corner at which a click closes the polygon; distance of a lasso's corners.
CLOSE_RADIUS, STEP = 8, 3
_MIN_POINTS = 3


class PathTool:
    """The corners of an unfinished polygon in image pixels. ``free``: drawn in one stroke."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        self.free = False
        self._hover: tuple[float, float] | None = None
        self._size = (0, 0)

    @property
    def active(self) -> bool:
        return bool(self.points)

    def cancel(self) -> None:
        self.points.clear()
        self._hover = None

    def press(self, point: QPointF, view: Viewport, *, free: bool) -> Region | None:
        """A left press sets a corner or begins a stroke; the region if it closed one."""
        self._size = (view.width, view.height)
        if free:
            self.cancel()
        elif len(self.points) >= _MIN_POINTS and self._near_first(point, view):
            return self.finish()
        self.free = free
        self._add(point, view)
        return None

    def move(self, point: QPointF, view: Viewport) -> None:
        """The mouse moved, pressed (a stroke) or not (the line to the next corner)."""
        if not self.points:
            return
        if not self.free:
            self._hover = self._clipped(point, view)
            return
        last = QPointF(*view.to_widget(*self.points[-1]))
        if hypot(point.x() - last.x(), point.y() - last.y()) >= STEP:
            self._add(point, view)

    def release(self) -> Region | None:
        """The button came up: the region of a stroke."""
        return self.finish() if self.free else None

    def key(self, event: QKeyEvent) -> bool:
        """Backspace takes the last corner back, Escape all; whether it did something."""
        if not self.points:
            return False
        if event.key() == Qt.Key.Key_Backspace:
            self.points.pop()
        elif event.key() == Qt.Key.Key_Escape:
            self.cancel()
        else:
            return False
        return True

    def finish(self) -> Region | None:
        """Close it; ``None`` where there are too few corners for an area."""
        points, (width, height) = list(self.points), self._size
        self.cancel()
        if len(points) < _MIN_POINTS or width == 0:
            return None
        xs, ys = [x for x, _ in points], [y for _, y in points]
        left, top = max(0, floor(min(xs))), max(0, floor(min(ys)))
        right, bottom = min(width, max(ceil(max(xs)), left + 1)), min(height, max(ceil(max(ys)), top + 1))
        outline = Polygon(tuple((x - left, y - top) for x, y in points))
        if not outline.mask(bottom - top, right - left).any():
            return None
        return Region(left, top, right - left, bottom - top, outline)

    def paint(self, painter: QPainter, view: Viewport) -> None:
        """What is drawn so far."""
        if not self.points:
            return
        shown = [*self.points, self._hover] if self._hover and not self.free else self.points
        path = QPainterPath()
        path.addPolygon(QPolygonF([QPointF(*view.to_widget(x, y)) for x, y in shown]))
        if not self.free:
            first = QPointF(*view.to_widget(*self.points[0]))
            path.addEllipse(QRectF(first.x() - 4, first.y() - 4, 8, 8))
        stroke(painter, path, theme().region)

    def _add(self, point: QPointF, view: Viewport) -> None:
        at = self._clipped(point, view)
        if not self.points or self.points[-1] != at:
            self.points.append(at)

    def _near_first(self, point: QPointF, view: Viewport) -> bool:
        first = view.to_widget(*self.points[0])
        return hypot(point.x() - first[0], point.y() - first[1]) <= CLOSE_RADIUS

    @staticmethod
    def _clipped(point: QPointF, view: Viewport) -> tuple[float, float]:
        x, y = view.to_image(point.x(), point.y())
        return min(max(x, 0.0), view.width), min(max(y, 0.0), view.height)
