"""The clickable parts of a card: the feedback buttons, the number of near-duplicates, and Relink."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect

from semblance.app.shell.theme import theme
from semblance.app.widgets.cards.card_layout import MARGIN, SMALL_CARDS, CardLayout
from semblance.app.widgets.finding_chips import SIDE

MORE_LIKE, LESS_LIKE = 1, -1
#: px at the right end of a row.
ROW_END_MARGIN = 11


def feedback_buttons_width(button: int = SMALL_CARDS.button) -> int:
    """The width of both feedback buttons, each ``button`` px wide at text scale 1."""
    return 2 * theme().px(button) + 1


def feedback_buttons(line: QRect, button: int = SMALL_CARDS.button) -> tuple[QRect, QRect]:
    """The rectangles of the buttons + and - at the right end of a line."""
    side = theme().px(button)
    y = line.y() + (line.height() - side) // 2
    down = QRect(line.right() + 1 - side, y, side, side)
    return down.translated(-side - 1, 0), down


def bar_length(row: QRect) -> int:
    """The width of the distance at the right end of a row."""
    return min(theme().px(180), max(theme().px(44), row.width() // 3))


def card_feedback_buttons(card: QRect, layout: CardLayout) -> tuple[QRect, QRect]:
    """The rectangles of the buttons + and - on a card or row."""
    if layout.rows:
        end = card.right() - ROW_END_MARGIN - bar_length(card) - 12
        return feedback_buttons(QRect(card.x(), card.y(), end + 1 - card.x(), card.height()))
    return feedback_buttons(caption_line(card, layout), layout.style.button)


def image_square(card: QRect, layout: CardLayout) -> QRect:
    """The square of the image on a card, not on a row."""
    return QRect(card.x() + MARGIN, card.y() + MARGIN, layout.image_side, layout.image_side)


def caption_line(card: QRect, layout: CardLayout) -> QRect:
    """The line below the image of a card, with the finding and the buttons."""
    y = card.y() + MARGIN + layout.image_side + 5
    height = theme().px(max(SIDE, layout.style.button))
    return QRect(card.x() + MARGIN, y, layout.image_side, height)


def feedback_at(card: QRect, layout: CardLayout, point: QPoint) -> int:
    """1 on the button +, -1 on the button -, 0 elsewhere."""
    for verdict, where in zip((MORE_LIKE, LESS_LIKE), card_feedback_buttons(card, layout), strict=True):
        if where.adjusted(-1, -3, 1, 3).contains(point):
            return verdict
    return 0


def is_on_near_duplicates(card: QRect, layout: CardLayout, point: QPoint) -> bool:
    """Whether ``point`` is on the number of grouped near-duplicates, at the bottom of the image."""
    if layout.rows:
        return False
    square = image_square(card, layout)
    width, height = min(theme().px(60), square.width()), theme().px(17)
    return QRect(square.right() + 1 - width, square.bottom() + 1 - height, width, height).contains(point)


def is_on_relink(card: QRect, layout: CardLayout, point: QPoint) -> bool:
    """Whether ``point`` is on the link Relink of a card whose image has moved."""
    square = image_square(card, layout)
    link = QRect(square.x(), square.center().y() - 2, square.width(), theme().px(18) + 4)
    return link.contains(point)
