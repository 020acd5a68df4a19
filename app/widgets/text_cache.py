"""A cache of widths, shortened texts and glyphs for text that is drawn often."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QStaticText, QTransform

from semblance.app.shell.theme import colour, font
from semblance.core.language import visible

_STRETCHES = (88, 80)
_MAX_CACHED = 2048
#: The share of the free space before the text.
LEFT, CENTRE, RIGHT = 0.0, 0.5, 1.0
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Line(NamedTuple):
    """A line as it is drawn in a certain width."""

    face: TextCache
    glyphs: QStaticText
    width: float


class TextCache:
    """Draws single lines in one font. Shared: get it from :func:`text_cache`."""

    def __init__(self, face: QFont, narrow: TextCache | None = None) -> None:
        self.font = face
        self._metrics = QFontMetricsF(face)
        self._cap_height, self._ascent = self._metrics.capHeight(), self._metrics.ascent()
        self._narrow = narrow
        self._widths: OrderedDict[str, float] = OrderedDict()
        self._lines: OrderedDict[tuple[str, int, bool], _Line] = OrderedDict()
        self._glyphs: OrderedDict[str, QStaticText] = OrderedDict()

    def width(self, text: str) -> float:
        return _cached(self._widths, text, self._metrics.horizontalAdvance)

    def fitted(self, text: str, width: int, *, middle: bool = False) -> tuple[str, TextCache]:
        """The text that fits into ``width`` px, and its cache: condensed or shortened if necessary."""
        if self.width(text) <= width:
            return text, self
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
        align: float = LEFT,
        *,
        middle: bool = False,
    ) -> None:
        """Draw one line of ``text`` fitted into ``where`` and vertically centred; hidden characters are spelled out."""
        width, height = where.width(), where.height()
        line = _cached(self._lines, (text, width, middle), self._line)
        x = where.x() + align * (width - line.width) if align else float(where.x())
        baseline = round((height + line.face._cap_height) / 2 + 0.2)
        painter.setFont(line.face.font)
        painter.setPen(colour(shade))
        painter.drawStaticText(QPointF(x, where.y() + (baseline - line.face._ascent)), line.glyphs)

    def _line(self, key: tuple[str, int, bool]) -> _Line:
        text, width, middle = key
        shown, face = self.fitted(visible(text), width, middle=middle)
        # Most texts fit, and are drawn in many widths while the window gets another size.
        return _Line(face, _cached(face._glyphs, shown, face._prepared), face.width(shown))

    def _prepared(self, text: str) -> QStaticText:
        glyphs = QStaticText(text)
        glyphs.setTextFormat(Qt.TextFormat.PlainText)
        glyphs.prepare(QTransform(), self.font)
        return glyphs


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


def _cached(known: OrderedDict[_Key, _Value], key: _Key, make: Callable[[_Key], _Value]) -> _Value:
    value = known.get(key)
    if value is None:
        if len(known) >= _MAX_CACHED:
            # One at a time: to delete all glyphs at once takes as long as to draw a screen of text.
            known.popitem(last=False)
        value = known[key] = make(key)
    return value
