"""Draws one case as a card or as a row of a list."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QPen, QPixmap, QRegion

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, SMALL, Theme, colour, theme
from semblance.app.widgets.cards.card_layout import (
    DISTANCE_HEIGHT,
    NOTE_HEIGHT,
    ROW_END_MARGIN,
    CardLayout,
    bar_length,
    caption_line,
    card_feedback_buttons,
    feedback_buttons,
    feedback_buttons_width,
    image_square,
    word_width,
)
from semblance.app.widgets.cards.case_model import CaseModel, near_duplicates_text
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.mark_button import (
    LESS_LIKE,
    MORE_LIKE,
    ButtonState,
    draw_mark,
    draw_mark_button,
)
from semblance.app.widgets.place_marks import draw_place
from semblance.app.widgets.text_cache import CENTRE, RIGHT, TextCache, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, visible
from semblance.core.library.case_columns import NO_FINDING, ImageAvailability

#: The processor time that a frame may take to scale images.
SCALE_BUDGET_S = 0.0025
_OK = ImageAvailability.OK
#: A word beside a chip has at least so much space, px at text scale 1.
_LEAST_TEXT = 28
#: More than the cards that a screen shows, also on one with two pixels for each of Qt's.
_SCALED_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class CardState:
    """How a card is highlighted."""

    current: bool = False
    hovered: bool = False
    focused: bool = False
    selected: bool = False
    #: Text on the card's part in a comparison; empty for none.
    role: str = ""
    #: The button, 1 or -1, under the mouse, and whether it is pressed.
    button: int = 0
    pressed: bool = False


class ScaledImages:
    """Thumbnails scaled to the size they are drawn in, within a time budget for each frame.

    ``late``: catalogue rows whose images this frame had no time to scale.
    """

    def __init__(self) -> None:
        self._pixmaps: OrderedDict[int, QPixmap] = OrderedDict()
        self._size = (0, 0.0)
        self._bytes = 0
        self._spent_s = 0.0
        self.late: set[int] = set()

    def begin(self, side: int, ratio: float) -> None:
        """Start a new frame with squares of ``side`` logical px."""
        if self._size != (side, ratio):
            self.clear()
            self._size = (side, ratio)
        self.late.clear()
        self._spent_s = 0.0

    def clear(self) -> None:
        self._pixmaps.clear()
        self._bytes = 0

    def forget(self, case_row: int) -> None:
        dropped = self._pixmaps.pop(case_row, None)
        if dropped is not None:
            self._bytes -= _pixmap_bytes(dropped)

    def get(self, case_row: int) -> QPixmap | None:
        found = self._pixmaps.get(case_row)
        if found is not None:
            self._pixmaps.move_to_end(case_row)
        return found

    def make(self, case_row: int, image: QImage) -> QPixmap | None:
        """The scaled image, or ``None`` and the row in ``late`` if the time of this frame is used up."""
        if self._spent_s > SCALE_BUDGET_S:
            self.late.add(case_row)
            return None
        start = time.thread_time()
        side, ratio = self._size
        target = max(1, round(side * ratio))
        scaled = image.scaled(
            target, target, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        pixmap = QPixmap.fromImage(scaled)
        pixmap.setDevicePixelRatio(ratio)
        self._pixmaps[case_row] = pixmap
        self._bytes += _pixmap_bytes(pixmap)
        while self._bytes > _SCALED_BYTES and len(self._pixmaps) > 1:
            self._bytes -= _pixmap_bytes(self._pixmaps.popitem(last=False)[1])
        self._spent_s += time.thread_time() - start
        return pixmap


def _pixmap_bytes(pixmap: QPixmap) -> int:
    return pixmap.width() * pixmap.height() * 4


@lru_cache(maxsize=16)
def _all_fit(findings: tuple[str, ...], width: int, face: TextCache) -> bool:
    """Whether every finding is written in full in ``width`` px."""
    return all(face.fitted(visible(one), width)[0] == visible(one) for one in findings)


class CardPainter:
    """Draws the cards of one frame, as far as they are in ``region``."""

    def __init__(
        self,
        painter: QPainter,
        region: QRegion,
        model: CaseModel,
        layout: CardLayout,
        source: ThumbnailSource | None,
        images: ScaledImages,
        ratio: float,
        *,
        refused: bool,
    ) -> None:
        self._painter, self._region, self._model, self._layout = painter, region, model, layout
        self._source, self._images, self._ratio = source, images, ratio
        self._refused = refused
        self._theme: Theme = theme()
        self._finding_letters = model.columns.letters
        self._small, self._base = text_cache(SMALL), text_cache(BASE)
        self._bold = text_cache(SMALL, 600)
        # The same width for all, so that bars can be compared.
        self._distance_width = int(self._small.width(model.longest_distance)) + 1 if model.ranked else 0
        #: Whether the findings stand beside the distance, because the buttons leave one of them too little space.
        self._has_words_below = (layout.markable and layout.style.shows_distance) and not _all_fit(
            tuple(model.columns.findings), word_width(layout), self._small
        )
        self._corner_height, self._chip_side = self._theme.px(17), self._theme.px(SIDE)
        images.begin(layout.image_side, ratio)

    def draw(self, place: int, case_row: int, at: QRect, state: CardState) -> None:
        """Draw the case ``case_row`` at ``place`` into ``at``, given in the painter's coordinates."""
        if self._layout.rows:
            self._draw_row(place, case_row, at, state)
        else:
            self._draw_card(place, case_row, at, state)

    def draw_empty(self, at: QRect) -> None:
        """Draw the place of the image of a card or row that is drawn later."""
        if not self._layout.rows:
            self._painter.fillRect(image_square(at, self._layout), colour(self._theme.image_well))

    # A card

    def _draw_card(self, place: int, case_row: int, at: QRect, state: CardState) -> None:
        self._draw_background(at, state)
        square = image_square(at, self._layout)
        if self._region.intersects(square):
            self._draw_square(place, case_row, square, state)
        below = QRect(at.x(), square.bottom() + 1, at.width(), at.bottom() - square.bottom())
        if self._region.intersects(below):
            self._draw_caption(place, case_row, at, state)

    def _draw_square(self, place: int, case_row: int, square: QRect, state: CardState) -> None:
        """Draw the image of a card and what is written on it."""
        model = self._model
        self._draw_image(place, case_row, square)
        if model.ranked:
            self._draw_corner_text(square, str(model.rank(place)), model.shift_arrow(place))
        if model.near_duplicates is not None and model.near_duplicates[place] > 0:
            n = model.near_duplicates[place]
            text = near_duplicates_text(n)
            # On a small card the tooltip has to say what is counted.
            fits = self._bold.width(text) + 10 <= square.width()
            self._draw_corner_text(square, text if fits else f"+{n}", at_bottom=True)
        if state.role:
            self._draw_role(square, state.role)

    def _draw_caption(self, place: int, case_row: int, at: QRect, state: CardState) -> None:
        """Draw what stands below the image of a card."""
        tokens, model, layout = self._theme, self._model, self._layout
        index, side = model.index(place), layout.image_side
        line, chip = caption_line(at, layout), self._chip_side
        text_width = word_width(layout)
        mark = model.judgements.get(case_row, 0)
        if layout.markable:
            self._draw_feedback_buttons(card_feedback_buttons(at, layout), mark, state)
        elif mark:
            # Where cards are only shown, the mark is no button.
            where = feedback_buttons(line)[1]
            draw_mark(self._painter, where, mark, tokens.text)
            text_width -= where.width() + 2
        word_below = self._has_words_below
        if model.pending is not None and model.pending[place]:
            self._small.draw(self._painter, line, tr("no features yet"), tokens.third)
        else:
            self._draw_chip(index, QPoint(line.x(), line.y() + (line.height() - chip) // 2))
            where = QRect(line.x() + chip + 4, line.y(), text_width, line.height())
            # Two letters and an ellipsis say less than the letter of the chip.
            if not word_below and text_width >= tokens.px(_LEAST_TEXT):
                self._small.draw(self._painter, where, model.caption(index), tokens.text)

        below = QRect(line.x(), line.bottom() + 1, side, tokens.px(NOTE_HEIGHT))
        if model.has_lines:
            name, detail = model.columns.lines(index)
            self._small.draw(self._painter, below, name, tokens.second, middle=True)
            below.translate(0, tokens.px(DISTANCE_HEIGHT))
            self._small.draw(self._painter, below, detail, tokens.third)
        elif layout.style.shows_distance:
            if model.distances is None:
                self._small.draw(self._painter, below, model.columns.name(index), tokens.third, middle=True)
            elif word_below:
                width = self._distance_width
                self._draw_number(below, place)
                self._small.draw(
                    self._painter, below.adjusted(0, 0, -width - 6, 0), model.caption(index), tokens.text
                )
            else:
                self._draw_distance(below, place)
            below.translate(0, tokens.px(DISTANCE_HEIGHT))
        if layout.markable and model.notes is not None:
            self._small.draw(self._painter, below, model.notes[place][0], tokens.second)

    def _draw_background(self, at: QRect, state: CardState) -> None:
        tokens, painter = self._theme, self._painter
        if not (state.current or state.hovered or state.selected or state.role):
            return
        chosen = state.current or state.selected
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setBrush(colour(tokens.selected if chosen else tokens.card_hover))
        if state.current or state.role:
            width = 2.0 if state.focused or state.role else 1.0
            pen = QPen(colour(tokens.accent), width)
            if state.role:
                pen.setDashPattern([3, 2])
            painter.setPen(pen)
            half = width / 2
            painter.drawRoundedRect(QRectF(at).adjusted(half, half, -half, -half), 4, 4)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawRoundedRect(QRectF(at), 4, 4)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _draw_image(self, place: int, case_row: int, square: QRect) -> None:
        model, tokens, painter = self._model, self._theme, self._painter
        drawn = self._images.get(case_row)
        state = int(model.columns.state[model.index(place)])
        if drawn is None and self._source is not None and state == _OK:
            image = self._source.get_sized(case_row, round(square.width() * self._ratio))
            if image is not None:
                drawn = self._images.make(case_row, image)
        if drawn is not None and state == _OK:
            width, height = drawn.width() / self._ratio, drawn.height() / self._ratio
            if width < square.width() - 0.5 or height < square.height() - 0.5:
                painter.fillRect(square, colour(tokens.image_well))
            x = square.x() + round((square.width() - width) / 2)
            y = square.y() + round((square.height() - height) / 2)
            painter.drawPixmap(QPointF(x, y), drawn)
            if not self._layout.rows:
                draw_place(painter, model.places.get(case_row), QRectF(x, y, width, height))
            return
        painter.fillRect(square, colour(tokens.image_well))
        if self._layout.rows:
            if state != _OK or self._problem(case_row):
                name = "table" if state == ImageAvailability.NO_IMAGE else "warning"
                side = tokens.px(14)
                icon = icon_pixmap(name, side, tokens.image_text, self._ratio)
                painter.drawPixmap(square.center() - QPoint(side // 2 - 1, side // 2 - 1), icon)
        elif state == ImageAvailability.MISSING:
            self._draw_two_lines(
                square, (tr("image moved"), tokens.image_text), (tr("Relink"), tokens.image_link)
            )
        elif state == ImageAvailability.NO_IMAGE:
            self._draw_icon_and_text(square, "table", tr("row of a table"))
        elif state == ImageAvailability.UNREADABLE or self._problem(case_row):
            self._draw_icon_and_text(square, "warning", tr("could not be read"))
        elif model.pending is not None and model.pending[place]:
            self._draw_pending(square)

    def _problem(self, case_row: int) -> str:
        return self._source.problem(case_row) if self._source is not None else ""

    def _draw_icon_and_text(self, square: QRect, name: str, text: str) -> None:
        side = self._theme.px(16)
        pixmap = icon_pixmap(name, side, self._theme.image_text, self._ratio)
        middle = square.center()
        self._painter.drawPixmap(QPoint(middle.x() - side // 2, middle.y() - side - 1), pixmap)
        below = QRect(square.x(), middle.y() + 4, square.width(), self._theme.px(16))
        self._small.draw(self._painter, below, text, self._theme.image_text, CENTRE)

    def _draw_two_lines(self, square: QRect, first: tuple[str, str], second: tuple[str, str]) -> None:
        line = self._theme.px(18)
        upper = QRect(square.x(), square.center().y() - line, square.width(), line)
        self._small.draw(self._painter, upper, first[0], first[1], CENTRE)
        self._bold.draw(self._painter, upper.translated(0, line), second[0], second[1], CENTRE)

    def _draw_pending(self, square: QRect) -> None:
        bar = QRect(square.center().x() - 24, square.center().y() - 1, 48, 2)
        self._painter.fillRect(bar, colour("#3D3D43"))
        self._painter.fillRect(QRect(bar.x(), bar.y(), 20, 2), colour(self._theme.image_text))

    def _draw_corner_text(
        self, square: QRect, text: str, quiet: str = "", *, at_bottom: bool = False
    ) -> None:
        """White on black in a corner of the image, with ``quiet`` in grey behind it."""
        painter = self._painter
        width, height = max(18, int(self._bold.width(text)) + 10), self._corner_height
        after = int(self._small.width(quiet)) + 4 if quiet else 0
        box = QRect(square.x(), square.y(), width + after, height)
        if at_bottom:
            box.moveBottomRight(square.bottomRight())
        painter.fillRect(box, colour("#000000", 0.66))
        self._bold.draw(painter, QRect(box.x(), box.y(), width, height), text, "#FFFFFF", CENTRE)
        if quiet:
            where = QRect(box.x() + width - 2, box.y(), after, height)
            self._small.draw(painter, where, quiet, self._theme.image_text)

    def _draw_role(self, square: QRect, text: str) -> None:
        """The card's part in a comparison, at the bottom of its image."""
        band = QRect(square.x(), 0, square.width(), self._theme.px(18))
        band.moveBottom(square.bottom())
        self._painter.fillRect(band, colour(self._theme.accent_filled))
        self._bold.draw(self._painter, band, text, self._theme.on_accent, CENTRE)

    def _draw_feedback_buttons(self, where: tuple[QRect, QRect], mark: int, state: CardState) -> None:
        for verdict, at in zip((MORE_LIKE, LESS_LIKE), where, strict=True):
            hovered = state.button == verdict
            shown = ButtonState(mark == verdict, hovered, hovered and state.pressed, not self._refused)
            draw_mark_button(self._painter, at, verdict, shown)

    def _draw_number(self, line: QRect, place: int) -> None:
        width = self._distance_width
        number = QRect(line.right() + 1 - width, line.y(), width, line.height())
        self._small.draw(self._painter, number, self._model.distance_text(place), self._theme.second, RIGHT)

    def _draw_distance(self, line: QRect, place: int) -> None:
        model, tokens, painter = self._model, self._theme, self._painter
        self._draw_number(line, place)
        track = QRect(line.x(), line.center().y() - 1, line.width() - self._distance_width - 8, 3)
        if track.width() > 8:
            painter.fillRect(track, colour(tokens.track))
            track.setWidth(round(track.width() * model.share(place)))
            painter.fillRect(track, colour(tokens.bar_fill))

    # A row of a list

    def _draw_row(self, place: int, case_row: int, at: QRect, state: CardState) -> None:
        model, tokens, painter = self._model, self._theme, self._painter
        if state.current or state.hovered or state.selected:
            chosen = state.current or state.selected
            painter.fillRect(at, colour(tokens.selected if chosen else tokens.card_hover))
        if state.role:
            painter.fillRect(at, colour(tokens.tool_on))
        if state.current or state.role:
            painter.fillRect(QRect(at.x(), at.y(), 2, at.height()), colour(tokens.accent))
            if state.focused:
                painter.setPen(colour(tokens.accent))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(at.adjusted(0, 0, -1, -1))
        index = model.index(place)
        x = at.x() + 12
        if model.ranked:
            box = QRect(x, at.y(), tokens.px(28), at.height())
            self._bold.draw(self._painter, box, str(model.rank(place)), tokens.second, RIGHT)
            x += box.width() + 4
            if model.shifts is not None:
                moved = QRect(x, at.y(), tokens.px(30), at.height())
                self._small.draw(self._painter, moved, model.shift_arrow(place), tokens.third)
                x += moved.width()
            x += 6
        side = self._layout.image_side
        self._draw_image(place, case_row, QRect(x, at.y() + (at.height() - side) // 2, side, side))
        x += side + 8
        chip = tokens.px(SIDE)
        self._draw_chip(index, QPoint(x, at.y() + (at.height() - chip) // 2))
        x += chip + 7
        name, detail = model.row_lines(place)
        if model.ranked:
            x, right = self._draw_rank_facts(place, case_row, index, x, at, state)
        else:
            # Of most libraries either all rows name the patient or none.
            whole_name = name if model.has_lines else model.columns.ids[index]
            right = self._draw_patient(index, whole_name, x, at, has_two_lines=bool(detail))
        where = QRect(x, at.y(), max(0, right - x), at.height())
        if detail:
            # As close to the middle as the two lines of a row of the patients.
            line = tokens.px(15)
            where = QRect(x, at.center().y() - line, where.width(), line)
            below = QRect(x, where.bottom() + 2, max(0, at.right() - ROW_END_MARGIN - x), line)
            self._small.draw(self._painter, below, detail, tokens.second)
        self._base.draw(self._painter, where, name, tokens.text, middle=not detail)

    def _draw_rank_facts(
        self, place: int, case_row: int, index: int, x: int, at: QRect, state: CardState
    ) -> tuple[int, int]:
        """Draw the finding, and at the right what is known of a ranked case; returns the left and right ends of the
        free space between them."""
        model, tokens = self._model, self._theme
        right = at.right() - ROW_END_MARGIN
        wide = tokens.px(96)
        if at.width() > tokens.px(340):
            where = QRect(x, at.y(), wide, at.height())
            word = model.columns.finding_name(index) or tr("not given")
            self._base.draw(self._painter, where, word, tokens.text)
            x += wide + 8
        length = bar_length(at, self._layout)
        if length:
            bar = QRect(right - length + 12, at.y() + at.height() // 2 - 8, length - 12, 16)
            self._draw_distance(bar, place)
        right -= length
        if self._layout.markable:
            mark = model.judgements.get(case_row, 0)
            self._draw_feedback_buttons(card_feedback_buttons(at, self._layout), mark, state)
            right -= feedback_buttons_width() + 12
        if state.role:
            text_width = int(self._bold.width(state.role)) + 2
            role_box = QRect(right - text_width, at.y(), text_width, at.height())
            self._bold.draw(self._painter, role_box, state.role, tokens.accent, RIGHT)
            right -= text_width + 12
        if (
            model.near_duplicates is not None
            and model.near_duplicates[place] > 0
            and right - x > tokens.px(140)
        ):
            text = near_duplicates_text(model.near_duplicates[place])
            text_width = int(self._small.width(text)) + 2
            self._small.draw(
                self._painter,
                QRect(right - text_width, at.y(), text_width, at.height()),
                text,
                tokens.third,
            )
            right -= text_width + 12
        if model.notes is not None and right - x > tokens.px(240):
            width = tokens.px(120)
            self._small.draw(
                self._painter,
                QRect(right - width, at.y(), width, at.height()),
                model.notes[place][0],
                tokens.second,
            )
            right -= width + 12
        return x, right

    def _draw_patient(self, index: int, name: str, x: int, at: QRect, *, has_two_lines: bool) -> int:
        """Draw the patient at the right of a row whose ``name`` begins at ``x``; returns the right end of the free
        space."""
        right = at.right() - ROW_END_MARGIN
        patient = self._model.columns.patient_code(index)
        if not patient:
            return right
        # The name of the case comes first: where both do not fit, the patient goes.
        text_width = int(self._base.width(patient)) + 2
        if text_width > right - x - int(self._base.width(name)) - 10:
            return right
        height = at.height() // 2 if has_two_lines else at.height()
        box = QRect(right - text_width, at.y(), text_width, height)
        self._base.draw(self._painter, box, patient, self._theme.third, RIGHT)
        return right - text_width - 8

    # Pieces

    def _draw_chip(self, index: int, at: QPoint) -> None:
        code = int(self._model.columns.finding[index])
        letter = "" if code == NO_FINDING else self._finding_letters[self._model.columns.findings[code]]
        self._painter.drawPixmap(at, chip_pixmap(code, letter, self._ratio))
