"""The layout of cards: from a place to a rectangle and back."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect

from semblance.app.shell.theme import theme

MARGIN = 4
SIDE = 8
GAP_X, GAP_Y = 2, 4
SMALLEST, LARGEST, DEFAULT_SIZE = 64, 160, 96
NO_PLACE = -1
#: Images may be this small if that gives one column more, up to five.
LEAST = 84
#: Height of the line with a note below a card.
NOTE_HEIGHT = 15


@dataclass(frozen=True)
class CardLayout:
    """The layout of ``count`` cases in a viewport ``width`` px wide.

    ``image_side``: the side of the square with the image. ``caption``: the height below it. ``pitch``: the
    distance from a line to the next. ``rows``: a list of rows instead of cards. Coordinates are those of the
    whole content, not of the viewport.
    """

    width: int
    count: int
    columns: int
    image_side: int
    caption: int
    pitch: int
    rows: bool

    @classmethod
    def cards(
        cls,
        width: int,
        count: int,
        smallest: int = DEFAULT_SIZE,
        *,
        has_notes: bool = False,
        most_columns: int | None = None,
    ) -> CardLayout:
        """As many columns as fit with images of ``smallest`` px. The images then fill the width.

        ``has_notes``: the captions have a third line. ``most_columns``: not more columns than this, for larger images.
        """
        smallest = min(LARGEST, max(smallest, theme().px(80)))
        available = max(1, width - 2 * SIDE + GAP_X)
        columns = max(1, available // (smallest + 2 * MARGIN + GAP_X))
        if columns < 5 and available // (columns + 1) - 2 * MARGIN - GAP_X >= theme().px(LEAST):
            # Two lines of five show the ten nearest, which the summary above is about, without scrolling. A narrower
            # panel shows more cards rather than larger ones.
            columns += 1
        columns = min(columns, most_columns or columns)
        image_side = max(SMALLEST, min(LARGEST, available // columns - 2 * MARGIN - GAP_X))
        caption = theme().px(35 + (NOTE_HEIGHT if has_notes else 0))
        return cls(
            width, count, columns, image_side, caption, MARGIN + image_side + caption + 3 + GAP_Y, rows=False
        )

    @classmethod
    def list(cls, width: int, count: int) -> CardLayout:
        """Rows with an image of 24 px each."""
        pitch = theme().px(32)
        return cls(width, count, 1, pitch - 6, 0, pitch, rows=True)

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
        return QRect(SIDE + column * (card_width + GAP_X), y, card_width, self.pitch - GAP_Y)

    def place_at(self, point: QPoint) -> int:
        """The place under ``point``, -1 between cards."""
        if point.y() < self.top:
            return NO_PLACE
        line = (point.y() - self.top) // self.pitch
        column = 0
        if not self.rows:
            column = (point.x() - SIDE) // (self.image_side + 2 * MARGIN + GAP_X)
        place = line * self.columns + column
        is_inside = 0 <= column < self.columns and 0 <= place < self.count
        return place if is_inside and self.card(place).contains(point) else NO_PLACE

    def places_between(self, top: int, bottom: int) -> range:
        """The places in lines that overlap y ``top`` to ``bottom`` of the content."""
        first = max(0, (top - self.top) // self.pitch)
        last = max(0, (bottom - self.top) // self.pitch)
        return range(min(self.count, first * self.columns), min(self.count, (last + 1) * self.columns))

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
