"""Line icons on a 24-unit grid in the colours of the theme, sharp at any pixel ratio."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from semblance import resources
from semblance.app.shell.theme import theme

SIZE = 16


def icon(name: str, *, off: str = "second", on: str = "accent") -> QIcon:
    """The icon ``name`` in the colours of the current theme.

    ``off`` and ``on``: names of the theme's colours for the two states. Hovered it has the colour ``text``,
    disabled the colour ``disabled``.

    Raises:
        FileNotFoundError: no icon of that name.
    """
    _source(name)
    return QIcon(_ThemedIconEngine(name, off, on))


def icon_pixmap(name: str, size: int, colour: str, ratio: float = 1.0, fill: str = "none") -> QPixmap:
    """The icon ``name`` in ``colour`` (``#RRGGBB``), ``size`` logical px wide.

    ``fill``: the colour inside closed shapes. The pixmap is shared: do not paint on it.
    """
    return _pixmap(name, round(size * ratio), round(size * ratio), ratio, colour, fill)


def coloured_svg(name: str, colour: str) -> str:
    """The text of the icon's file with its one colour filled in."""
    return _source(name).replace("currentColor", colour)


class _ThemedIconEngine(QIconEngine):
    def __init__(self, name: str, off: str, on: str) -> None:
        super().__init__()
        self._name, self._off, self._on = name, off, on

    def _colour(self, mode: QIcon.Mode, state: QIcon.State) -> str:
        if mode == QIcon.Mode.Disabled:
            token = "disabled"
        elif state == QIcon.State.On:
            token = self._on
        else:
            token = self._off if mode == QIcon.Mode.Normal else "text"
        return str(getattr(theme(), token))

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatioF()
        pixmap = self.scaledPixmap(rect.size(), mode, state, ratio)
        painter.drawPixmap(rect, pixmap)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        width, height = round(size.width() * scale), round(size.height() * scale)
        return _pixmap(self._name, width, height, scale, self._colour(mode, state), "none")

    def clone(self) -> QIconEngine:
        return _ThemedIconEngine(self._name, self._off, self._on)

    def isNull(self) -> bool:
        return False

    def iconName(self) -> str:
        return self._name


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    return resources.path(f"icons/{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=512)
def _pixmap(name: str, width: int, height: int, ratio: float, colour: str, fill: str) -> QPixmap:
    image = QImage(max(1, width), max(1, height), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    side = min(width, height)
    text = coloured_svg(name, colour).replace('fill="none"', f'fill="{fill}"')
    painter = QPainter(image)
    corner = QPoint((width - side) // 2, (height - side) // 2)
    QSvgRenderer(QByteArray(text.encode())).render(painter, QRectF(corner.x(), corner.y(), side, side))
    painter.end()
    pixmap = QPixmap.fromImage(image)
    pixmap.setDevicePixelRatio(ratio)
    return pixmap
