"""The icon of a finding in the legend: its marker on the map and its letter."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap

from semblance.app.evaluation.map.map_raster import shape_mask, shape_of
from semblance.app.shell.theme import finding_colour, theme
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap

_GAP = 6


def legend_icon_size() -> QSize:
    """Size of a marker with a letter."""
    side = theme().px(SIDE)
    return QSize(2 * side + _GAP, side)


def legend_icon(code: int, letter: str, ratio: float) -> QIcon:
    """The marker of the finding ``code`` on the map (negative: not given) beside its letter."""
    size, side = legend_icon_size(), theme().px(SIDE)
    pixmap = QPixmap(round(size.width() * ratio), round(size.height() * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.drawImage(0, 0, _marker_image(code, side, ratio))
    painter.drawPixmap(side + _GAP, 0, chip_pixmap(code, letter, ratio))
    painter.end()
    return QIcon(pixmap)


def _marker_image(code: int, side: int, ratio: float) -> QImage:
    width = round(side * ratio) | 1
    rgb = QColor(finding_colour(code))
    mask = shape_mask(shape_of(code), width)
    pixels = np.empty((width, width, 4), dtype=np.uint8)
    for channel, value in enumerate((rgb.blue(), rgb.green(), rgb.red(), 255)):
        pixels[..., channel] = np.rint(mask * value)
    image = QImage(pixels.data, width, width, width * 4, QImage.Format.Format_ARGB32_Premultiplied).copy()
    image.setDevicePixelRatio(ratio)
    return image
