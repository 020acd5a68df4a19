"""An icon in a colour of the theme."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import theme, theme_signals


class IconLabel(QWidget):
    """The icon named ``icon``, ``size`` px wide, in the theme's colour ``shade``."""

    def __init__(self, icon: str, shade: str = "second", size: int = 16) -> None:
        super().__init__()
        self.icon, self._shade, self._size = icon, shade, size
        theme_signals.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        side = theme().px(self._size)
        self.setFixedSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        shade = str(getattr(theme(), self._shade))
        painter = QPainter(self)
        painter.drawPixmap(0, 0, icon_pixmap(self.icon, self.width(), shade, self.devicePixelRatioF()))
        painter.end()
