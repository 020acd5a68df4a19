"""Text drawn often: widths, shortened forms and glyphs are worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QStaticText, QTransform

from semblance.app.shell.theme import colour, font

_NARROWER = (88, 80)
_REMEMBERED = 2048
LEFT, RIGHT, CENTRE = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignHCenter
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class TextCache:
    """One font, for painting single lines by hand. Get it from :func:`text_cache`, it is shared."""

    def __init__(self, face: QFont, narrow: TextCache | None = None) -> None:
        self.font = face
        self._metrics = QFontMetricsF(face)
        self._cap, self._ascent = self._metrics.capHeight(), self._metrics.ascent()
        self._narrow = narrow
        self._widths: dict[str, float] = {}
        self._fitted: dict[tuple[str, int, bool], tuple[str, TextCache]] = {}
        self._glyphs: dict[str, QStaticText] = {}

    def width(self, text: str) -> float:
        return _once(self._widths, text, self._metrics.horizontalAdvance)

    def fitted(self, text: str, room: int, *, middle: bool = False) -> tuple[str, TextCache]:
        """What fits into ``room`` px: the text, or in narrower letters, or shortened."""
        if self.width(text) <= room:
            return text, self
        return _once(self._fitted, (text, room, middle), self._fit)

    def _fit(self, wanted: tuple[str, int, bool]) -> tuple[str, TextCache]:
        text, room, middle = wanted
        if self._narrow is not None:
            return self._narrow.fitted(text, room, middle=middle)
        mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        return self._metrics.elidedText(text, mode, room), self

    def draw(
        self,
        painter: QPainter,
        where: QRect,
        text: str,
        shade: str,
        align: Qt.AlignmentFlag = LEFT,
        *,
        middle: bool = False,
    ) -> None:
        """One line of ``text``, fitted into ``where`` and centred on its height."""
        room = where.width()
        shown, face = self.fitted(text, room, middle=middle)
        x = float(where.x())
        if align != LEFT:
            free = room - face.width(shown)
            x += free if align == RIGHT else free / 2
        baseline = round((where.height() + face._cap) / 2 + 0.2)
        painter.setFont(face.font)
        painter.setPen(colour(shade))
        painter.drawStaticText(
            QPointF(x, where.y() + baseline - face._ascent), _once(face._glyphs, shown, face._shape)
        )

    def _shape(self, text: str) -> QStaticText:
        shaped = QStaticText(text)
        shaped.setTextFormat(Qt.TextFormat.PlainText)
        shaped.prepare(QTransform(), self.font)
        return shaped


def text_cache(size: int, weight: int = 400) -> TextCache:
    """The shared lettering of a text size and weight under the theme in force."""
    face = font(size, weight)
    return _lettering(face.family(), face.pixelSize(), weight)


@lru_cache(maxsize=32)
def _lettering(family: str, pixels: int, weight: int) -> TextCache:
    face = QFont(family)
    face.setPixelSize(pixels)
    face.setWeight(QFont.Weight(weight))
    face.setFeature(QFont.Tag("tnum"), 1)
    narrow: TextCache | None = None
    for stretch in reversed(_NARROWER):
        squeezed = QFont(face)
        squeezed.setStretch(stretch)
        narrow = TextCache(squeezed, narrow)
    return TextCache(face, narrow)


def _once(known: dict[_Key, _Value], key: _Key, make: Callable[[_Key], _Value]) -> _Value:
    value = known.get(key)
    if value is None:
        if len(known) >= _REMEMBERED:
            known.clear()
        value = known[key] = make(key)
    return value
