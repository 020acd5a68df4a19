"""Findings as coloured squares with a letter, beside their word."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import colour, finding_colour, finding_letter_colour, font, theme

SIDE = 14
UNKNOWN = "?"
_GAP = 5


def chip_pixmap(code: int, letter: str, ratio: float = 1.0) -> QPixmap:
    """The square of the finding ``code`` (negative: unknown, letter "?"); shared, do not paint on it."""
    return _chip(code, letter if code >= 0 else UNKNOWN, theme().px(SIDE), ratio)


@lru_cache(maxsize=512)
def _chip(code: int, letter: str, side: int, ratio: float) -> QPixmap:
    pixmap = QPixmap(round(side * ratio), round(side * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour(finding_colour(code)))
    painter.drawRoundedRect(QRectF(0, 0, side, side), 3, 3)
    text = font(10, 700)
    metrics = QFontMetricsF(text)
    width = metrics.horizontalAdvance(letter)
    if width > side - 3:
        text.setPixelSize(max(6, int(text.pixelSize() * (side - 2) / width)))
        metrics = QFontMetricsF(text)
        width = metrics.horizontalAdvance(letter)
    painter.setFont(text)
    painter.setPen(colour(finding_letter_colour(code)))
    painter.drawText(QPointF((side - width) / 2, (side + metrics.capHeight()) / 2), letter)
    painter.end()
    return pixmap


class FindingChip(QWidget):
    """The chip and, unless ``word`` is empty, the finding's name, elided where there is no room."""

    def __init__(self, code: int, letter: str, word: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._code, self._letter, self._word = code, letter, word
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._told()

    def set_finding(self, code: int, letter: str, word: str = "") -> None:
        self._code, self._letter, self._word = code, letter, word
        self._told()
        self.updateGeometry()
        self.update()

    def _told(self) -> None:
        self.setToolTip(self._word)
        self.setAccessibleName(self._word or self._letter or UNKNOWN)

    def sizeHint(self) -> QSize:
        side = theme().px(SIDE)
        text = QFontMetricsF(font()).horizontalAdvance(self._word)
        return QSize(side + (int(text) + _GAP + 2 if self._word else 0), max(side, theme().px(18)))

    def minimumSizeHint(self) -> QSize:
        side = theme().px(SIDE)
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = theme().px(SIDE)
        top = (self.height() - side) // 2
        painter.drawPixmap(0, top, chip_pixmap(self._code, self._letter, self.devicePixelRatioF()))
        if self._word:
            painter.setFont(font())
            painter.setPen(colour(theme().text if self.isEnabled() else theme().disabled))
            room = self.width() - side - _GAP
            word = painter.fontMetrics().elidedText(self._word, Qt.TextElideMode.ElideRight, room)
            where = QRectF(side + _GAP, 0, room, self.height())
            painter.drawText(where, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, word)
        painter.end()
