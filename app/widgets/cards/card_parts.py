"""The parts of a card that take clicks of their own: the thumbs, the count of those alike, and Relink."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect

from semblance.app.shell.theme import theme
from semblance.app.widgets.cards.card_layout import MARGIN, CardLayout
from semblance.app.widgets.finding_chip import SIDE

THUMB = 14
ALIKE, NOT_ALIKE = 1, -1
#: Room at the right end of a list's row.
ROW_END = 11


def thumbs_width() -> int:
    """The room that both thumbs take."""
    return 2 * theme().px(THUMB) + 1


def thumbs(line: QRect) -> tuple[QRect, QRect]:
    """Where thumbs up and down are at the right end of a line."""
    side = theme().px(THUMB)
    y = line.y() + (line.height() - side) // 2
    down = QRect(line.right() + 1 - side, y, side, side)
    return down.translated(-side - 1, 0), down


def bar_length(row: QRect) -> int:
    """The room of the distance at the right end of a list's row."""
    return min(theme().px(180), max(theme().px(44), row.width() // 3))


def thumbs_of(card: QRect, layout: CardLayout) -> tuple[QRect, QRect]:
    """Where thumbs up and down are on a whole card or row."""
    if layout.rows:
        end = card.right() - ROW_END - bar_length(card) - 12
        return thumbs(QRect(card.x(), card.y(), end + 1 - card.x(), card.height()))
    y = card.y() + MARGIN + layout.thumb + 5
    return thumbs(QRect(card.x() + MARGIN, y, layout.thumb, theme().px(SIDE)))


def verdict_at(card: QRect, layout: CardLayout, point: QPoint) -> int:
    """1 on thumbs up, -1 on thumbs down, 0 elsewhere."""
    for verdict, where in zip((ALIKE, NOT_ALIKE), thumbs_of(card, layout), strict=True):
        if where.adjusted(-1, -3, 1, 3).contains(point):
            return verdict
    return 0


def on_alike(card: QRect, layout: CardLayout, point: QPoint) -> bool:
    """Whether ``point`` is on the count of folded near-duplicates, at the foot of the image."""
    if layout.rows:
        return False
    square = QRect(card.x() + MARGIN, card.y() + MARGIN, layout.thumb, layout.thumb)
    width, height = min(theme().px(60), square.width()), theme().px(17)
    return QRect(square.right() + 1 - width, square.bottom() + 1 - height, width, height).contains(point)


def on_relink(card: QRect, layout: CardLayout, point: QPoint) -> bool:
    """Whether ``point`` is on the word Relink of a card whose image has moved."""
    square = QRect(card.x() + MARGIN, card.y() + MARGIN, layout.thumb, layout.thumb)
    link = QRect(square.x(), square.center().y() - 2, square.width(), theme().px(18) + 4)
    return link.contains(point)
