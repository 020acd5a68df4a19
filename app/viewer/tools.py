"""The tools of the left mouse button on an image: their names, and what the brush and the polygon draw."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, hypot

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPainterPath, QPolygonF

from semblance.app.shell.theme import theme
from semblance.app.viewer.overlay import to_widget
from semblance.app.viewer.viewport import Viewport
from semblance.app.widgets.place_marks import stroke
from semblance.core.imaging import measurements
from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.language import tr

SELECT, RECTANGLE, ELLIPSE, POLYGON = "select", "rectangle", "ellipse", "polygon"
FREEHAND, SEGMENT, BRUSH = "freehand", "segment", "brush"
RULER, ANGLE, PROBE = "ruler", "angle", "probe"
ROI_RECTANGLE, ROI_ELLIPSE, ROI_FREEHAND = "roi-rectangle", "roi-ellipse", "roi-freehand"


@dataclass(frozen=True)
class Tool:
    """``name``, its ``key``, and what it does in a line. Those that measure have a short ``title``, an ``icon`` and the
    ``kind`` of figure that they draw."""

    name: str
    key: str
    tip: str
    title: str = ""
    icon: str = ""
    kind: str = ""


#: Of the left mouse button, beside those that measure.
ALL = (
    Tool(SELECT, "V", tr("Window / level: drag on the image")),
    Tool(RECTANGLE, "R", tr("Draw a rectangle to search with")),
    Tool(ELLIPSE, "E", tr("Draw an ellipse to search with")),
    Tool(POLYGON, "P", tr("Draw a polygon: click its corners, the first one again to close it")),
    Tool(FREEHAND, "L", tr("Lasso: draw around the region in one stroke")),
    Tool(SEGMENT, "S", tr("Click on a mass to outline it")),
    Tool(BRUSH, "B", tr("Paint the region. Alt removes pixels. [ and ] change the size")),
)
#: They measure. With Shift the key of a region draws one to measure.
MEASURING = (
    Tool(RULER, "M", tr("Measure a length: drag a line"), tr("Length"), "ruler", measurements.LINE),
    Tool(
        ANGLE,
        "Shift+A",
        tr("Measure an angle: draw a line, then click its second side, or draw a second line (Cobb angle)"),
        tr("Angle, Cobb angle"),
        "angle",
        measurements.ANGLE,
    ),
    Tool(
        ROI_RECTANGLE,
        "Shift+R",
        tr("Measure a rectangle: mean, SD, least and greatest value, area"),
        tr("Rectangle ROI"),
        "roi-rectangle",
        measurements.RECTANGLE,
    ),
    Tool(
        ROI_ELLIPSE,
        "Shift+E",
        tr("Measure an ellipse: mean, SD, least and greatest value, area"),
        tr("Ellipse ROI"),
        "roi-ellipse",
        measurements.ELLIPSE,
    ),
    Tool(
        ROI_FREEHAND,
        "Shift+L",
        tr("Measure a free form: draw around it in one stroke"),
        tr("Free-form ROI"),
        "roi-freehand",
        measurements.OUTLINE,
    ),
    Tool(
        PROBE,
        "Shift+P",
        tr("Probe: click, or hold and move, for the value of a pixel"),
        tr("Probe"),
        "target",
        measurements.PROBE,
    ),
)
#: The figure that each of them draws.
KINDS = {tool.name: tool.kind for tool in MEASURING}

#: Those that draw a box from corner to corner.
BOXES = frozenset((RECTANGLE, ELLIPSE))
PATHS = frozenset((POLYGON, FREEHAND))
NAMES = frozenset(tool.name for tool in (*ALL, *MEASURING))


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
