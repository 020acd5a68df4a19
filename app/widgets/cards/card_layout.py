"""The layout of cards: from a place to a rectangle and back, and the buttons on each card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, Qt

from semblance.app.shell.theme import theme
from semblance.app.widgets.finding_chips import SIDE as CHIP_SIDE
from semblance.app.widgets.mark_button import BUTTON_GAP, BUTTON_HEIGHT, BUTTON_WIDTH, LESS_LIKE, MORE_LIKE

MARGIN = 4
SIDE = 8
GAP_X, GAP_Y = 2, 4
SMALLEST, LARGEST = 64, 160
#: px for each column that may be put between the columns.
MOST_SPREAD = 24
NO_PLACE = -1
#: Key -> columns, lines and viewports to move.
_STEPS: dict[int, tuple[int, int, int]] = {
    Qt.Key.Key_Left: (-1, 0, 0),
    Qt.Key.Key_Right: (1, 0, 0),
    Qt.Key.Key_Up: (0, -1, 0),
    Qt.Key.Key_Down: (0, 1, 0),
    Qt.Key.Key_PageUp: (0, 0, -1),
    Qt.Key.Key_PageDown: (0, 0, 1),
}
_ENDS: dict[int, int] = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: -1}
#: Height of the line with the distance and of the line with a note below a card.
DISTANCE_HEIGHT = NOTE_HEIGHT = 15
#: The cases that the summary above the cards is about.
NEAREST = 10


@dataclass(frozen=True)
class CardStyle:
    """What cards show, and the sides of their images in px at text scale 1.

    ``least``: images may be so small, not ``smallest``, if the nearest ten are visible then. ``columns``: as many
    where that is possible. ``fills``: larger images go before more columns, as long as the nearest ten are visible.
    ``shows_distance``: on the card, in its description and in its tooltip.
    """

    smallest: int = 96
    largest: int = LARGEST
    least: int = 84
    columns: int = 5
    fills: bool = False
    shows_distance: bool = True


#: Cards to browse, of the Library panel and of dialogs.
PLAIN_CARDS = CardStyle()
#: Similar cases in Research and in Read.
SMALL_CARDS = CardStyle(fills=True)
LARGE_CARDS = CardStyle(smallest=150, largest=240, least=76, columns=4, fills=True, shows_distance=False)
#: The line of similar cases below a comparison.
STRIP_CARDS = CardStyle(shows_distance=False)


@dataclass(frozen=True)
class CardLayout:
    """The layout of ``count`` cases in a viewport ``width`` px wide.

    ``image_side``: the side of the square with the image. ``caption``: the height below it. ``pitch``: the
    distance from a line to the next. ``rows``: a list of rows instead of cards. ``markable``: each has the buttons +
    and -, and each card a line for what a mark did. Coordinates are those of the whole content, not of the viewport.
    """

    width: int
    count: int
    columns: int
    image_side: int
    caption: int
    pitch: int
    rows: bool
    style: CardStyle = PLAIN_CARDS
    markable: bool = False

    @classmethod
    def cards(
        cls,
        width: int,
        count: int,
        *,
        height: int = 0,
        style: CardStyle = PLAIN_CARDS,
        markable: bool = False,
        has_lines: bool = False,
        most_columns: int | None = None,
    ) -> CardLayout:
        """As many columns as fit in ``style``. The images then fill the width.

        ``height``: of the viewport. ``has_lines``: names of cases in two lines. ``most_columns``: not more columns than
        this, for larger images.
        """
        caption = theme().px(
            6
            + (BUTTON_HEIGHT + NOTE_HEIGHT if markable else CHIP_SIDE)
            + (DISTANCE_HEIGHT if style.shows_distance else 0)
            + (NOTE_HEIGHT if has_lines else 0)
        )
        available = max(1, width - 2 * SIDE + GAP_X)

        def side_of(columns: int) -> int:
            return available // columns - 2 * MARGIN - GAP_X

        def pitch_of(columns: int) -> int:
            return MARGIN + max(SMALLEST, min(style.largest, side_of(columns))) + caption + 3 + GAP_Y

        smallest = min(style.largest, max(style.smallest, theme().px(80)))
        columns = max(1, available // (smallest + 2 * MARGIN + GAP_X))
        if style.fills:
            columns = _filling_columns(
                columns, style, side_of, lambda n: SIDE - (-NEAREST // n) * pitch_of(n) <= height
            )
        elif columns < style.columns and side_of(columns + 1) >= theme().px(style.least):
            # Two lines of five show the ten nearest, which the summary above is about, without scrolling. A narrower
            # panel shows more cards rather than larger ones.
            columns += 1
        columns = min(columns, most_columns or columns)
        image_side = max(SMALLEST, min(style.largest, side_of(columns)))
        pitch = pitch_of(columns)
        return cls(width, count, columns, image_side, caption, pitch, False, style, markable)

    @classmethod
    def list(
        cls, width: int, count: int, *, style: CardStyle = PLAIN_CARDS, markable: bool = False
    ) -> CardLayout:
        """Rows with an image of 24 px each."""
        pitch = theme().px(32)
        return cls(width, count, 1, pitch - 6, 0, pitch, True, style, markable)

    @property
    def lines(self) -> int:
        return -(-self.count // self.columns)

    @property
    def height(self) -> int:
        """Of the whole content."""
        return self.lines * self.pitch + (0 if self.rows else 2 * SIDE - GAP_Y)

    @property
    def top(self) -> int:
        return 0 if self.rows else SIDE

    def card(self, place: int) -> QRect:
        """The rectangle of the whole card, which is highlighted and can be clicked."""
        line, column = divmod(place, self.columns)
        y = self.top + line * self.pitch
        if self.rows:
            return QRect(0, y, self.width, self.pitch)
        card_width = self.image_side + 2 * MARGIN
        return QRect(self._card_x(column), y, card_width, self.pitch - GAP_Y)

    def _card_x(self, column: int) -> int:
        """Few px that are left of the width lie between the columns, so that the last one ends at the right edge."""
        pitch = self.image_side + 2 * MARGIN + GAP_X
        left = self.width - 2 * SIDE + GAP_X - self.columns * pitch
        spread = (
            column * left // (self.columns - 1) if 0 < left < MOST_SPREAD * self.columns > MOST_SPREAD else 0
        )
        return SIDE + column * pitch + spread

    def place_at(self, point: QPoint) -> int:
        """The place under ``point``, -1 between cards."""
        if point.y() < self.top:
            return NO_PLACE
        line = (point.y() - self.top) // self.pitch
        column = 0
        if not self.rows:
            column = sum(self._card_x(one) <= point.x() for one in range(self.columns)) - 1
        place = line * self.columns + column
        is_inside = 0 <= column < self.columns and 0 <= place < self.count
        return place if is_inside and self.card(place).contains(point) else NO_PLACE

    def places_between(self, top: int, bottom: int) -> range:
        """The places in lines that overlap y ``top`` to ``bottom`` of the content."""
        first = max(0, (top - self.top) // self.pitch)
        last = max(0, (bottom - self.top) // self.pitch)
        return range(min(self.count, first * self.columns), min(self.count, (last + 1) * self.columns))

    def place_after_key(self, key: int, place: int, height: int) -> int | None:
        """The place that ``key`` moves to in a viewport ``height`` px high, ``None`` for another key."""
        if key in _STEPS:
            columns, lines, pages = _STEPS[key]
            return self.place_after_move(place, columns, lines, pages * max(1, height // self.pitch))
        return _ENDS[key] % self.count if key in _ENDS and self.count else None

    def place_after_move(self, place: int, columns: int, lines: int, page: int) -> int:
        """The place ``columns`` to the right and ``lines`` (plus ``page`` viewports' lines) below."""
        if self.count == 0:
            return NO_PLACE
        if place < 0:
            return 0
        target = place + columns + (lines + page) * self.columns
        if lines or page:
            # From the last full line, down goes to the last card even when none is straight below.
            last_line = (self.count - 1) // self.columns
            if target >= self.count:
                target = self.count - 1 if place // self.columns < last_line or page else place
            elif target < 0:
                target = place % self.columns if page else place
        return max(0, min(self.count - 1, target))


def _filling_columns(
    most: int, style: CardStyle, side_of: Callable[[int], int], shows_nearest: Callable[[int], bool]
) -> int:
    """The columns with the largest images, up to ``most``, with which the nearest ten are visible. More where they are
    visible with smaller images, else ``most``."""
    first = style.columns
    while side_of(first) > style.largest:
        first += 1
    while most < style.columns and side_of(most + 1) >= theme().px(style.least):
        most += 1
    for columns in range(min(first, most), most + 1):
        if shows_nearest(columns):
            return columns
    columns = most
    while side_of(columns + 1) >= theme().px(style.least):
        columns += 1
        if shows_nearest(columns):
            return columns
    return most


#: px at the right end of a row.
ROW_END_MARGIN = SIDE + MARGIN - 1


def feedback_buttons_width() -> int:
    """The width of both feedback buttons."""
    return 2 * theme().px(BUTTON_WIDTH) + theme().px(BUTTON_GAP)


def feedback_buttons(line: QRect) -> tuple[QRect, QRect]:
    """The rectangles of the buttons + and - at the right end of a line."""
    width, height = theme().px(BUTTON_WIDTH), theme().px(BUTTON_HEIGHT)
    y = line.y() + (line.height() - height) // 2
    down = QRect(line.right() + 1 - width, y, width, height)
    return down.translated(-width - theme().px(BUTTON_GAP), 0), down


def bar_length(row: QRect, layout: CardLayout) -> int:
    """The width of the distance at the right end of a row, with the space before it."""
    return (
        12 + min(theme().px(180), max(theme().px(44), row.width() // 3)) if layout.style.shows_distance else 0
    )


def card_feedback_buttons(card: QRect, layout: CardLayout) -> tuple[QRect, QRect]:
    """The rectangles of the buttons + and - on a card or row."""
    if layout.rows:
        end = card.right() - ROW_END_MARGIN - bar_length(card, layout)
        return feedback_buttons(QRect(card.x(), card.y(), end + 1 - card.x(), card.height()))
    return feedback_buttons(caption_line(card, layout))


def image_square(card: QRect, layout: CardLayout) -> QRect:
    """The square of the image on a card, not on a row."""
    return QRect(card.x() + MARGIN, card.y() + MARGIN, layout.image_side, layout.image_side)


def caption_line(card: QRect, layout: CardLayout) -> QRect:
    """The line below the image of a card, with the finding and the buttons."""
    y = card.y() + MARGIN + layout.image_side + 5
    height = theme().px(BUTTON_HEIGHT if layout.markable else CHIP_SIDE)
    return QRect(card.x() + MARGIN, y, layout.image_side, height)


def word_width(layout: CardLayout) -> int:
    """px beside the chip and the buttons of a card."""
    buttons = feedback_buttons_width() + 2 if layout.markable else 0
    return layout.image_side - theme().px(CHIP_SIDE) - 4 - buttons


def feedback_at(card: QRect, layout: CardLayout, point: QPoint) -> int:
    """1 on the button +, -1 on the button -, 0 elsewhere."""
    for verdict, where in zip((MORE_LIKE, LESS_LIKE), card_feedback_buttons(card, layout), strict=True):
        if where.contains(point):
            return verdict
    return 0


def is_on_near_duplicates(card: QRect, layout: CardLayout, point: QPoint) -> bool:
    """Whether ``point`` is on the number of cases of the same lesion, at the bottom of the image."""
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
