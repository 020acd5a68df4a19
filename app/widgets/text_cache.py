"""A cache of widths, shortened texts and glyphs for text that is drawn often."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QStaticText, QTransform

from semblance.app.shell.theme import colour, font
from semblance.core.language import visible

_STRETCHES = (88, 80)
_MAX_CACHED = 2048
LEFT, RIGHT, CENTRE = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignHCenter
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class TextCache:
    """Draws single lines in one font. Shared: get it from :func:`text_cache`."""

    def __init__(self, face: QFont, narrow: TextCache | None = None) -> None:
        self.font = face
        self._metrics = QFontMetricsF(face)
        self._cap_height, self._ascent = self._metrics.capHeight(), self._metrics.ascent()
        self._narrow = narrow
        self._widths: dict[str, float] = {}
        self._visible: dict[str, str] = {}
        self._fitted: dict[tuple[str, int, bool], tuple[str, TextCache]] = {}
        self._glyphs: dict[str, QStaticText] = {}

    def width(self, text: str) -> float:
        return _cached(self._widths, text, self._metrics.horizontalAdvance)

    def fitted(self, text: str, width: int, *, middle: bool = False) -> tuple[str, TextCache]:
        """The text that fits into ``width`` px, and its cache: condensed or shortened if necessary."""
        if self.width(text) <= width:
            return text, self
        return _cached(self._fitted, (text, width, middle), self._fit)

    def _fit(self, key: tuple[str, int, bool]) -> tuple[str, TextCache]:
        text, width, middle = key
        if self._narrow is not None:
            return self._narrow.fitted(text, width, middle=middle)
        mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        return self._metrics.elidedText(text, mode, width), self

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
        """Draw one line of ``text`` fitted into ``where`` and vertically centred; hidden characters are spelled out."""
        width, text = where.width(), _cached(self._visible, text, visible)
        shown, face = self.fitted(text, width, middle=middle)
        x = float(where.x())
        if align != LEFT:
            free = width - face.width(shown)
            x += free if align == RIGHT else free / 2
        baseline = round((where.height() + face._cap_height) / 2 + 0.2)
        painter.setFont(face.font)
        painter.setPen(colour(shade))
        painter.drawStaticText(
            QPointF(x, where.y() + baseline - face._ascent), _cached(face._glyphs, shown, face._static_text)
        )

    def _static_text(self, text: str) -> QStaticText:
        text_object = QStaticText(text)
        text_object.setTextFormat(Qt.TextFormat.PlainText)
        text_object.prepare(QTransform(), self.font)
        return text_object


def text_cache(size: int, weight: int = 400) -> TextCache:
    """The shared cache of a text size and weight in the current theme."""
    face = font(size, weight)
    return _font_cache(face.family(), face.pixelSize(), weight)


@lru_cache(maxsize=32)
def _font_cache(family: str, pixels: int, weight: int) -> TextCache:
    face = QFont(family)
    face.setPixelSize(pixels)
    face.setWeight(QFont.Weight(weight))
    face.setFeature(QFont.Tag("tnum"), 1)
    narrow: TextCache | None = None
    for stretch in reversed(_STRETCHES):
        condensed = QFont(face)
        condensed.setStretch(stretch)
        narrow = TextCache(condensed, narrow)
    return TextCache(face, narrow)


def _cached(known: dict[_Key, _Value], key: _Key, make: Callable[[_Key], _Value]) -> _Value:
    value = known.get(key)
    if value is None:
        if len(known) >= _MAX_CACHED:
            known.clear()
        value = known[key] = make(key)
    return value
