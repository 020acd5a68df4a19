"""The tools of the left mouse button on an image: their names, and what the brush, the polygon and the ruler draw."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, hypot

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPainterPath, QPolygonF

from semblance.app.shell.theme import SMALL, font, theme
from semblance.app.viewer.overlay import draw_outlined_text, to_widget
from semblance.app.viewer.viewport import Viewport
from semblance.app.widgets.place_marks import stroke
from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.language import localise_number, tr

SELECT, RECTANGLE, ELLIPSE, POLYGON = "select", "rectangle", "ellipse", "polygon"
FREEHAND, SEGMENT, BRUSH, RULER = "freehand", "segment", "brush", "ruler"


@dataclass(frozen=True)
class Tool:
    """``name``, its ``key``, and what it does in a line."""

    name: str
    key: str
    tip: str


ALL = (
    Tool(SELECT, "V", tr("Window / level: drag on the image")),
    Tool(RECTANGLE, "R", tr("Draw a rectangle to search with")),
    Tool(ELLIPSE, "E", tr("Draw an ellipse to search with")),
    Tool(POLYGON, "P", tr("Draw a polygon: click its corners, the first one again to close it")),
    Tool(FREEHAND, "L", tr("Lasso: draw around the region in one stroke")),
    Tool(SEGMENT, "S", tr("Click on a mass to outline it")),
    Tool(BRUSH, "B", tr("Paint the region. Alt removes pixels. [ and ] change the size")),
    Tool(RULER, "M", tr("Measure: drag a line")),
)

#: Those that draw a box from corner to corner.
BOXES = frozenset((RECTANGLE, ELLIPSE))
PATHS = frozenset((POLYGON, FREEHAND))
NAMES = frozenset(tool.name for tool in ALL)


#: Radius in widget pixels: the first one, the least, the greatest, and the factor of a step.
RADIUS, MIN_RADIUS, MAX_RADIUS, GROWTH = 12.0, 2.0, 120.0, 1.25


class BrushTool:
    """A brush on the pixels of one image. Its size is in widget pixels, so zooming in makes it finer."""

    def __init__(self) -> None:
        self.radius = RADIUS
        self._mask: npt.NDArray[np.bool_] | None = None
        self._last: tuple[float, float] | None = None
        self._erase = False
        self._hover: QPointF | None = None
        self._slice: tuple[int | None, int] = (None, 1)

    @property
    def active(self) -> bool:
        return self._mask is not None

    def grow(self, steps: int) -> None:
        """Larger, or smaller for negative ``steps``."""
        self.radius = min(max(self.radius * GROWTH**steps, MIN_RADIUS), MAX_RADIUS)

    def press(self, point: QPointF, view: Viewport, region: Region | None, *, erase: bool) -> None:
        """Begin a stroke on ``region`` (nothing yet for ``None``)."""
        size = (view.height, view.width)
        self._mask = np.zeros(size, dtype=np.bool_) if region is None else region.mask(*size)
        self._slice = (None, 1) if region is None else (region.z, region.depth)
        self._erase, self._last = erase, None
        self.move(point, view)

    def move(self, point: QPointF, view: Viewport) -> bool:
        """The mouse moved; whether pixels changed."""
        self._hover = point
        if self._mask is None:
            return False
        x, y = view.to_image(point.x(), point.y())
        radius = max(self.radius / view.zoom, 0.5)
        from_x, from_y = self._last or (x, y)
        distance = hypot(x - from_x, y - from_y)
        for step in range(1, (count := max(1, round(2 * distance / radius))) + 1):
            share = step / count
            self._stamp(from_x + share * (x - from_x), from_y + share * (y - from_y), radius, view.aspect)
        self._last = (x, y)
        return True

    def region(self) -> Region | None:
        """What is painted now."""
        if self._mask is None or not self._mask.any():
            return None
        z, _ = self._slice
        return region_of_mask(self._mask[None], z) if z is not None else region_of_mask(self._mask)

    def release(self) -> None:
        self._mask = self._last = None

    def leave(self) -> None:
        """The mouse left the image."""
        self._hover = None

    def paint(self, painter: QPainter, view: Viewport) -> None:
        """The brush where the mouse is."""
        if self._hover is None:
            return
        x, y = view.to_image(self._hover.x(), self._hover.y())
        radius = max(self.radius / view.zoom, 0.5)
        path = QPainterPath()
        path.addEllipse(QPointF(x, y), radius, radius / view.aspect)
        stroke(painter, to_widget(view).map(path), theme().region)

    def _stamp(self, x: float, y: float, radius: float, aspect: float) -> None:
        assert self._mask is not None
        rows, columns = self._mask.shape
        vertical_radius = radius / aspect
        top, bottom = max(0, int(y - vertical_radius - 1)), min(rows, int(y + vertical_radius + 2))
        left, right = max(0, int(x - radius - 1)), min(columns, int(x + radius + 2))
        if bottom <= top or right <= left:
            return
        down = (np.arange(top, bottom)[:, None] + 0.5 - y) / vertical_radius
        across = (np.arange(left, right)[None, :] + 0.5 - x) / radius
        inside = down * down + across * across <= 1.0
        if 0 <= int(y) < rows and 0 <= int(x) < columns:
            inside[int(y) - top, int(x) - left] = True
        part = self._mask[top:bottom, left:right]
        part[inside] = not self._erase


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


GRAB_RADIUS = 8
_TICK = 5.0
_MIN_LENGTH = 2.0
Point = tuple[float, float]


class Ruler:
    """Lines in image pixels; ``spacing_mm``: from row to row and column to column, where known."""

    def __init__(self) -> None:
        self.lines: list[tuple[Point, Point]] = []
        self.spacing_mm: tuple[float, float] | None = None
        self._dragged: tuple[int, int] | None = None

    @property
    def active(self) -> bool:
        return self._dragged is not None

    def begin(self, spacing_mm: tuple[float, float] | None) -> None:
        """Set another image and remove all lines."""
        self.lines.clear()
        self.spacing_mm, self._dragged = spacing_mm, None

    def press(self, point: QPointF, view: Viewport) -> None:
        """Drag an end near ``point``, or start a line."""
        for number, line in enumerate(self.lines):
            for end, at in enumerate(line):
                x, y = view.to_widget(*at)
                if hypot(point.x() - x, point.y() - y) <= GRAB_RADIUS:
                    self._dragged = (number, end)
                    return
        at = view.to_image(point.x(), point.y())
        self.lines.append((at, at))
        self._dragged = (len(self.lines) - 1, 1)

    def move(self, point: QPointF, view: Viewport) -> None:
        if self._dragged is not None:
            number, end = self._dragged
            ends = list(self.lines[number])
            ends[end] = view.to_image(point.x(), point.y())
            self.lines[number] = (ends[0], ends[1])

    def release(self, view: Viewport) -> None:
        """End a drag and remove a line without length."""
        if self._dragged is not None:
            number, self._dragged = self._dragged[0], None
            (ax, ay), (bx, by) = (view.to_widget(*end) for end in self.lines[number])
            if hypot(bx - ax, by - ay) < _MIN_LENGTH:
                del self.lines[number]

    def key(self, event: QKeyEvent) -> bool:
        """Backspace or Delete takes the last line away, Escape all; whether it did something."""
        if not self.lines:
            return False
        if event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            self.lines.pop()
        elif event.key() == Qt.Key.Key_Escape:
            self.lines.clear()
        else:
            return False
        self._dragged = None
        return True

    def text(self, line: tuple[Point, Point]) -> str:
        """The length of ``line``, like ``12.4 mm`` or ``31 px``."""
        (ax, ay), (bx, by) = line
        if self.spacing_mm is None:
            return f"{hypot(bx - ax, by - ay):.0f} px"
        row_mm, column_mm = self.spacing_mm
        return localise_number(f"{hypot((bx - ax) * column_mm, (by - ay) * row_mm):.1f} mm")

    def paint(self, painter: QPainter, view: Viewport) -> None:
        metrics = QFontMetricsF(font(SMALL, 600))
        for line in self.lines:
            begin, end = (QPointF(*view.to_widget(*at)) for at in line)
            vector = end - begin
            length = max(hypot(vector.x(), vector.y()), 1e-6)
            across = QPointF(-vector.y() / length, vector.x() / length) * _TICK
            path = QPainterPath(begin)
            path.lineTo(end)
            for at in (begin, end):
                path.moveTo(at - across)
                path.lineTo(at + across)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            stroke(painter, path, "#FFFFFF")
            text = self.text(line)
            middle = (begin + end) / 2
            beside = QPointF(8, -6) if abs(vector.y()) > abs(vector.x()) else QPointF(-6, -10)
            at = middle + beside
            max_x = view.across - metrics.horizontalAdvance(text) - 4
            draw_outlined_text(
                painter, QPointF(min(max(4.0, at.x()), max_x), max(metrics.ascent() + 2, at.y())), text
            )
