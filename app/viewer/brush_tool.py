"""A round brush that adds pixels to a region or removes them."""

from __future__ import annotations

from math import hypot

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter, QPainterPath

from semblance.app.shell.theme import theme
from semblance.app.viewer.region_painting import stroke, to_widget
from semblance.app.viewer.viewport import Viewport
from semblance.core.imaging.region import Region, region_of_mask

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
