"""The mark of a finding on the map beside its letter."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap

from semblance.app.evaluation.map.map_raster import shape_of, stamp
from semblance.app.shell.theme import finding_colour, theme
from semblance.app.widgets.finding_chip import SIDE, chip_pixmap

_GAP = 6


def key_size() -> QSize:
    """The room of a mark and its letter."""
    side = theme().px(SIDE)
    return QSize(2 * side + _GAP, side)


def key_icon(code: int, letter: str, ratio: float) -> QIcon:
    """The shape the finding ``code`` has on the map (negative: none given), and its chip."""
    size, side = key_size(), theme().px(SIDE)
    pixmap = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.drawImage(0, 0, _mark(code, side, ratio))
    painter.drawPixmap(side + _GAP, 0, chip_pixmap(code, letter, ratio))
    painter.end()
    return QIcon(pixmap)


def _mark(code: int, side: int, ratio: float) -> QImage:
    width = round(side * ratio) | 1
    shade = QColor(finding_colour(code))
    cover = stamp(shape_of(code), width)
    pixels = np.empty((width, width, 4), dtype=np.uint8)
    for channel, value in enumerate((shade.blue(), shade.green(), shade.red(), 255)):
        pixels[..., channel] = np.rint(cover * value)
    image = QImage(pixels.data, width, width, width * 4, QImage.Format.Format_ARGB32_Premultiplied).copy()
    image.setDevicePixelRatio(ratio)
    return image
