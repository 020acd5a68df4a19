"""Renders the visible part of an image with its window at the size of the screen."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage

from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.display import DisplayImage

#: Pixels rendered at once (about 5 ms). For more a coarser level is used.
MAX_PIXELS = 4_000_000
#: From this many screen pixels for an image pixel, pixels are drawn as squares.
SQUARES_MIN_ZOOM = 8.0

_MARGIN = 2


class Renderer:
    """Renders the visible part of one image. The last result is cached."""

    def __init__(self, image: DisplayImage) -> None:
        self.image = image
        self._key: tuple[Any, ...] = ()
        self._image = QImage()
        # QImage does not own its pixels.
        self._pixels: npt.NDArray[np.uint8] | None = None
        self._tables: dict[tuple[Window, bool], npt.NDArray[np.uint8]] = {}

    def level_for(self, viewport: Viewport, ratio: float) -> int:
        """The coarsest level that still has a pixel for every screen pixel."""
        zoom = viewport.zoom * ratio
        level = 0
        while level + 1 < len(self.image.levels) and zoom * self.image.factor(level + 1) <= 1.05:
            level += 1
        return level

    def visible(
        self, viewport: Viewport, ratio: float, window: Window | None, *, inverted: bool = False
    ) -> tuple[QImage, QRectF]:
        """The image to draw and where in the widget; a null image when nothing is in view.

        ``ratio`` is screen pixels per widget pixel; ``window`` is not used for colour images.
        """
        x0, y0, x1, y1 = viewport.visible_area()
        if x1 <= x0 or y1 <= y0:
            return QImage(), QRectF()
        level = self.level_for(viewport, ratio)
        while True:
            factor = self.image.factor(level)
            rows, columns = self.image.levels[level].shape[:2]
            left, top = max(0, floor(x0 / factor) - _MARGIN), max(0, floor(y0 / factor) - _MARGIN)
            right = min(columns, ceil(x1 / factor) + _MARGIN)
            bottom = min(rows, ceil(y1 / factor) + _MARGIN)
            if (right - left) * (bottom - top) <= MAX_PIXELS or level + 1 == len(self.image.levels):
                break
            level += 1
        key = (level, left, top, right, bottom, window, inverted, viewport.orientation)
        if key != self._key:
            part = self.image.levels[level][top:bottom, left:right]
            self._render(_oriented(part, viewport.orientation), window, inverted)
            self._key = key
        ax, ay, bx, by = viewport.box(left * factor, top * factor, right * factor, bottom * factor)
        return self._image, QRectF(ax, ay, bx - ax, by - ay)

    def _render(self, part: npt.NDArray[Any], window: Window | None, inverted: bool) -> None:
        if part.ndim == 3:
            shown = part if part.dtype == np.uint8 else (part >> 8).astype(np.uint8)
            pixels = np.ascontiguousarray(255 - shown if inverted else shown)
            kind = QImage.Format.Format_RGB888
        else:
            assert window is not None
            pixels = np.ascontiguousarray(self._table(window, inverted).take(part))
            kind = QImage.Format.Format_Grayscale8
        height, width = pixels.shape[:2]
        self._pixels = pixels
        self._image = QImage(pixels.data, width, height, pixels.strides[0], kind)

    def _table(self, window: Window, inverted: bool) -> npt.NDArray[np.uint8]:
        key = (window, inverted)
        if key not in self._tables:
            size = 256 if self.image.levels[0].dtype == np.uint8 else 65536
            self._tables = {key: window.table(size, inverted=inverted)}
        return self._tables[key]


def _oriented(part: npt.NDArray[Any], orientation: Orientation) -> npt.NDArray[Any]:
    if orientation.mirrored:
        part = part[:, ::-1]
    return np.rot90(part, -orientation.turns) if orientation.turns else part
