"""Renders the visible part of an image with its window at the size of the screen."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage

from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.text_detector import TextBox

#: Pixels rendered at once (about 5 ms). For more a coarser level is used.
MAX_PIXELS = 4_000_000
#: From this many screen pixels for an image pixel, pixels are drawn as squares.
SQUARES_MIN_ZOOM = 8.0

_MARGIN = 2
#: Text is searched for with so much around the visible part: words that reach into it are whole, and letters that fill
#: the view at a high zoom are small.
_SEARCHED_MARGIN = 256


@dataclass(frozen=True, eq=False)
class SearchedPart:
    """A part of an image as it is displayed: ``pixels`` (h, w) or (h, w, 3) of a level, from its ``left`` and ``top``,
    each of which is ``factor`` x ``factor`` pixels of the image."""

    pixels: npt.NDArray[np.uint8]
    left: int
    top: int
    factor: int
    viewport: Viewport

    def in_widget(self, box: TextBox) -> QRectF:
        """Where a box of :attr:`pixels` lies in the widget."""
        left, top = self.left + box.x, self.top + box.y
        return _in_widget(self.viewport, self.factor, left, top, left + box.width, top + box.height)


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
        level, (left, top, right, bottom) = self._part(viewport, ratio, _MARGIN)
        key = (level, left, top, right, bottom, window, inverted, viewport.orientation)
        if key != self._key:
            part = self.image.levels[level][top:bottom, left:right]
            self._pixels = self._rendered(_oriented(part, viewport.orientation), window, inverted)
            height, width = self._pixels.shape[:2]
            kind = QImage.Format.Format_RGB888 if part.ndim == 3 else QImage.Format.Format_Grayscale8
            self._image = QImage(self._pixels.data, width, height, self._pixels.strides[0], kind)
            self._key = key
        return self._image, _in_widget(viewport, self.image.factor(level), left, top, right, bottom)

    def searched_part(
        self, viewport: Viewport, ratio: float, window: Window | None, *, inverted: bool = False
    ) -> SearchedPart:
        """What :meth:`visible` shows and some of the image around it, as stored: neither rotated nor flipped."""
        level, (left, top, right, bottom) = self._part(viewport, ratio, _SEARCHED_MARGIN)
        pixels = self._rendered(self.image.levels[level][top:bottom, left:right], window, inverted)
        return SearchedPart(pixels, left, top, self.image.factor(level), viewport)

    def _part(self, viewport: Viewport, ratio: float, margin: int) -> tuple[int, tuple[int, int, int, int]]:
        """The level to show, and left, top, right and bottom of its visible part with ``margin`` pixels around it."""
        x0, y0, x1, y1 = viewport.visible_area()
        level = self.level_for(viewport, ratio)
        while True:
            factor = self.image.factor(level)
            rows, columns = self.image.levels[level].shape[:2]
            left, top = max(0, floor(x0 / factor) - margin), max(0, floor(y0 / factor) - margin)
            right = min(columns, ceil(x1 / factor) + margin)
            bottom = min(rows, ceil(y1 / factor) + margin)
            if (right - left) * (bottom - top) <= MAX_PIXELS or level + 1 == len(self.image.levels):
                return level, (left, top, right, bottom)
            level += 1

    def _rendered(
        self, part: npt.NDArray[Any], window: Window | None, inverted: bool
    ) -> npt.NDArray[np.uint8]:
        if part.ndim == 3:
            return np.ascontiguousarray(255 - part if inverted else part)
        assert window is not None
        return np.ascontiguousarray(self._table(window, inverted).take(part))

    def _table(self, window: Window, inverted: bool) -> npt.NDArray[np.uint8]:
        key = (window, inverted)
        if key not in self._tables:
            size = 256 if self.image.levels[0].dtype == np.uint8 else 65536
            self._tables = {key: window.table(size, inverted=inverted)}
        return self._tables[key]


def _in_widget(viewport: Viewport, factor: int, left: int, top: int, right: int, bottom: int) -> QRectF:
    """Where a part of the level of ``factor`` lies in the widget."""
    ax, ay, bx, by = viewport.box(left * factor, top * factor, right * factor, bottom * factor)
    return QRectF(ax, ay, bx - ax, by - ay)


def _oriented(part: npt.NDArray[Any], orientation: Orientation) -> npt.NDArray[Any]:
    if orientation.mirrored:
        part = part[:, ::-1]
    return np.rot90(part, -orientation.turns) if orientation.turns else part
