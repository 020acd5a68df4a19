"""Words and scale on an image, cased in black so that they can be read on any grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPainterPath, QPen

from semblance.app.shell.theme import OUTCOME, SMALL, colour, font, theme
from semblance.app.viewer.viewport import Viewport
from semblance.core.language import localise_number

MARGIN = 8
#: Sides below which an image has no room for words, or for its scale.
SMALLEST, SCALE_FROM = 60, 160
#: Below this width the upper and lower letter lie further inside, off the words in the corners.
_NARROW, _INSET = 340, 30
_CASING = 2.5
#: Widget pixels around drawn letters, for their casing.
_PAD = 3
_NICE = (1, 2, 5)


def draw_words(
    painter: QPainter,
    room: QRect,
    view: Viewport,
    words: Mapping[Qt.Corner, Sequence[str]],
    row_mm: float | None,
    *,
    lower: bool = False,
) -> None:
    """Lines in the corners, and a scale where a row's height in mm is known; nothing in a tiny ``room``.
    ``lower``: the scale leaves the middle of its edge free."""
    if room.width() < SMALLEST or room.height() < SMALLEST:
        return
    for corner, lines in words.items():
        draw_corner(painter, room, [line for line in lines if line], corner)
    if row_mm is not None and room.height() >= SCALE_FROM:
        draw_scale(painter, room, view, row_mm, *((0.7, 0.34) if lower else (0.5, 0.4)))


def draw_corner(painter: QPainter, room: QRect, lines: Sequence[str], corner: Qt.Corner) -> None:
    """Write ``lines`` into a corner of ``room``."""
    written = font(SMALL, 600)
    metrics = QFontMetricsF(written)
    step = metrics.height() + 1
    left = corner in (Qt.Corner.TopLeftCorner, Qt.Corner.BottomLeftCorner)
    top = corner in (Qt.Corner.TopLeftCorner, Qt.Corner.TopRightCorner)
    first = room.top() + MARGIN - 3 if top else room.bottom() - MARGIN + 4 - step * len(lines)
    for number, line in enumerate(lines):
        text = metrics.elidedText(line, Qt.TextElideMode.ElideRight, room.width() - 2 * MARGIN)
        width = metrics.horizontalAdvance(text)
        x = room.left() + MARGIN if left else room.right() + 1 - MARGIN - width
        cased_text(painter, QPointF(x, first + number * step + metrics.ascent()), text)


def letter_inset(width: int) -> int:
    """How much further from the upper and lower edge their letters lie in a view so wide."""
    return theme().px(_INSET) if width < theme().px(_NARROW) else 0


def draw_edges(painter: QPainter, room: QRect, letters: tuple[str, str, str, str]) -> None:
    """The patient's sides in the middle of the left, upper, right and lower edge."""
    if room.width() < SMALLEST or room.height() < SMALLEST:
        return
    metrics = QFontMetricsF(font(OUTCOME, 600))
    cap, middle = metrics.capHeight(), QPointF(room.center())
    inset = letter_inset(room.width())
    left, top, right, bottom = letters
    for letter, x, y in (
        (left, MARGIN, middle.y() + cap / 2),
        (top, middle.x() - metrics.horizontalAdvance(top) / 2, MARGIN + inset + cap),
        (right, room.right() + 1 - MARGIN - metrics.horizontalAdvance(right), middle.y() + cap / 2),
        (bottom, middle.x() - metrics.horizontalAdvance(bottom) / 2, room.bottom() + 1 - MARGIN - inset),
    ):
        cased_text(painter, QPointF(x, y), letter, OUTCOME)


def draw_scale(
    painter: QPainter, room: QRect, view: Viewport, row_mm: float, centre: float = 0.5, longest: float = 0.4
) -> None:
    """A bracket at the right whose length is a round number of millimetres, written beside it.

    ``centre``, ``longest``: where its middle lies and how long it may be, as shares of the height.
    """
    per_mm = view.zoom * view.aspect / row_mm
    length = scale_length(room.height() * longest / per_mm)
    if length is None:
        return
    half = length * per_mm / 2
    x = room.right() - MARGIN + 0.5
    middle = round(room.top() + room.height() * centre) + 0.5
    path = QPainterPath()
    path.moveTo(x - 7, middle - half)
    path.lineTo(x, middle - half)
    path.lineTo(x, middle + half)
    path.lineTo(x - 7, middle + half)
    for part in (-0.5, 0.0, 0.5):
        path.moveTo(x - (7 if part == 0 else 4), middle + part * half)
        path.lineTo(x, middle + part * half)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(colour("#000000", 0.66), 3), QPen(colour("#FFFFFF"), 1)):
        painter.setPen(pen)
        painter.drawPath(path)
    metrics = QFontMetricsF(font(SMALL, 600))
    label = localise_number(f"{length:g} mm")
    begin = x - 12 - metrics.horizontalAdvance(label)
    cased_text(painter, QPointF(begin, middle + metrics.capHeight() / 2), label)


def cased_text(painter: QPainter, at: QPointF, text: str, size: int = SMALL) -> None:
    """``text`` with its baseline beginning ``at``."""
    if not text:
        return
    ratio = painter.device().devicePixelRatioF()
    drawn = _drawn(text, size, theme().text_scale, ratio)
    ascent = QFontMetricsF(font(size, 600)).ascent()
    painter.drawImage(QPointF(round(at.x()) - _PAD, round(at.y() - ascent) - _PAD), drawn)


def scale_length(most_mm: float) -> float | None:
    """The greatest of 1, 2, 5, 10, 20 … (and 0.5, 0.2 …) millimetres up to ``most_mm``."""
    for power in range(3, -5, -1):
        for nice in reversed(_NICE):
            length = nice * 10.0**power
            if length <= most_mm:
                return length
    return None


@lru_cache(maxsize=256)
def _drawn(text: str, size: int, _scale: float, ratio: float) -> QImage:
    """The letters of ``text`` on nothing; stroking them takes as long as drawing the image."""
    face = font(size, 600)
    metrics = QFontMetricsF(face)
    width, height = ceil(metrics.horizontalAdvance(text)) + 2 * _PAD, ceil(metrics.height()) + 2 * _PAD
    image = QImage(ceil(width * ratio), ceil(height * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    path = QPainterPath()
    path.addText(QPointF(_PAD, _PAD + metrics.ascent()), face, text)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    casing = QPen(colour("#000000", 0.72), _CASING)
    casing.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.strokePath(path, casing)
    painter.fillPath(path, colour("#FFFFFF"))
    painter.end()
    return image
