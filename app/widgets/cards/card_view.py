"""A scroll area with the cards or rows of any number of cases. Only the visible ones are painted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Set
from dataclasses import replace
from itertools import groupby

from PySide6.QtCore import QEasingCurve, QEvent, QObject, QPoint, QRect, QSize, Qt, QVariantAnimation, Signal
from PySide6.QtGui import (
    QCursor,
    QFocusEvent,
    QGuiApplication,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QStyle, QToolTip, QWidget

from semblance.app.shell import theme as themes
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.theme import colour, plain_tip, theme
from semblance.app.widgets.cards.card_layout import NO_PLACE, PLAIN_CARDS, CardLayout, CardStyle
from semblance.app.widgets.cards.card_painter import CardPainter, CardState, ScaledImages
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.layouts import BAR
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import ImageAvailability
from semblance.core.searches.similar_cases import MatchedPlace

LONGEST_MS = 150
#: More cards are not animated.
MAX_CARDS = 400


class CardAnimation(QObject):
    """Positions of moving cards by place. ``moved``: draw a new frame."""

    moved = Signal()
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._paths: dict[int, tuple[QPoint, QPoint]] = {}
        self._timeline = QVariantAnimation(self)
        self._timeline.setStartValue(0.0)
        self._timeline.setEndValue(1.0)
        self._timeline.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._timeline.valueChanged.connect(lambda _: self.moved.emit())
        self._timeline.finished.connect(self.stop)

    @property
    def places(self) -> list[int]:
        """The places of cards that are moving."""
        return list(self._paths)

    def start(self, paths: Mapping[int, tuple[QPoint, QPoint]]) -> None:
        """Move the card of each place from the first point to the second."""
        self._timeline.stop()
        duration = min(LONGEST_MS, system_duration())
        moving = {place: path for place, path in paths.items() if path[0] != path[1]}
        self._paths = moving if duration > 0 and len(moving) <= MAX_CARDS else {}
        if self._paths:
            self._timeline.setDuration(duration)
            self._timeline.start()

    def stop(self) -> None:
        """Move every card to its place at once."""
        if self._paths:
            self._timeline.stop()
            self._paths = {}
            self.moved.emit()
            self.ended.emit()

    def position(self, place: int) -> QPoint | None:
        """The upper left corner of a moving card; ``None`` for one that does not move."""
        path = self._paths.get(place)
        if path is None:
            return None
        done = float(self._timeline.currentValue())
        start, end = path
        return QPoint(
            round(start.x() + done * (end.x() - start.x())), round(start.y() + done * (end.y() - start.y()))
        )


def system_duration() -> int:
    """The system's animation time in ms; 0 if animations are switched off or nothing is displayed."""
    if QGuiApplication.platformName() in ("offscreen", "minimal"):
        return 0
    return QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration)


NONE = -1
#: The processor time that a frame may take to draw cards after a jump to another place.
JUMP_BUDGET_S = 0.003


class CardView(QAbstractScrollArea):
    """Shows a :class:`CaseModel` with one current case. Signals carry catalogue rows.

    ``current_changed(case_row)`` (-1: none) · ``hovered(case_row)``.
    """

    current_changed = Signal(int)
    hovered = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = CaseModel()
        self._source: ThumbnailSource | None = None
        self._images = ScaledImages()
        self._rows, self._judging = False, False
        #: Why nothing can be marked although the buttons are shown; empty where it can.
        self._refused = ""
        self._most_columns: int | None = None
        self._style = PLAIN_CARDS
        self._place = self._hover = NO_PLACE
        #: The button, 1 or -1, under the mouse.
        self._hover_button = 0
        #: Whether :meth:`set_model` is at work, so that a change of the current case is not the user's.
        self.is_replacing = False
        self._animation = CardAnimation(self)
        self._animation.moved.connect(self.viewport().update)
        self._animation.ended.connect(self._update_hover)
        self._layout = CardLayout.cards(1, 0)
        #: Catalogue rows whose cards are drawn next, since a frame had no time for them or for their images.
        self._late_rows: set[int] = set()
        self._late_timer = one_shot(self, self._draw_late_cards)
        #: Whether the cards after a jump are still drawn, a few in each frame.
        self._jumping = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAutoFillBackground(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # A bar that appears and disappears would change the number of columns.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setViewportMargins(0, 0, -BAR, 0)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Cases"))
        themes.theme_signals.changed.connect(self._restyled)

    # What is shown

    def model(self) -> CaseModel:
        return self._model

    def set_model(self, model: CaseModel, *, keep_scroll: bool = True, animate: bool = False) -> None:
        """Show ``model``. The current case stays current if it is still in it.

        ``keep_scroll`` false: scroll to the top, as for a new ranking. ``animate``: move the cards to their new
        places. If the current case moves out of view, the case in its former place becomes current.
        """
        before, positions_before = self.current(), self._visible_positions() if animate else {}
        place_before = self._place
        self._animation.stop()
        self.is_replacing = True
        self._model = model
        self._place = model.position_of(before) if before != NONE else NO_PLACE
        self._hover = NO_PLACE
        self._lay_out()
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() if keep_scroll else 0)
        if animate:
            if self._place not in self.visible_places() and place_before != NO_PLACE:
                self._place = min(place_before, len(model) - 1)
            self._animation.start(self._animation_paths(positions_before))
        self.viewport().update()
        if self.current() != before:
            self._emit_current()
        else:
            self.setAccessibleDescription(self._description())
        self._select_on_focus()
        self.is_replacing = False
        self._update_hover()

    def _visible_positions(self) -> dict[int, QPoint]:
        """The positions of the visible cards by catalogue row."""
        return {self._model.case_row(p): self.card_rect(p).topLeft() for p in self.visible_places()}

    def _animation_paths(self, positions_before: dict[int, QPoint]) -> dict[int, tuple[QPoint, QPoint]]:
        """Start and end of the cards that were or are visible, by place."""
        height, pitch = self.viewport().height(), self._layout.pitch

        def near(point: QPoint) -> QPoint:
            # Cards from or to positions out of view move across the nearest edge.
            return QPoint(point.x(), max(-pitch, min(height, point.y())))

        paths = {}
        for row, start in positions_before.items():
            place = self._model.position_of(row)
            if place != NO_PLACE:
                paths[place] = (start, near(self.card_rect(place).topLeft()))
        return paths

    def set_judgements(self, judgements: dict[int, int]) -> None:
        """Judgements by catalogue row: 1 more like this, -1 less like this."""
        self._model = replace(self._model, judgements=judgements)
        self.setAccessibleDescription(self._description())
        self.viewport().update()

    def set_places(self, places: Mapping[int, MatchedPlace]) -> None:
        """Where a search by place found the query, by catalogue row."""
        self._model = replace(self._model, places=places)
        self.viewport().update()

    def set_source(self, source: ThumbnailSource | None) -> None:
        if self._source is not None:
            self._source.ready.disconnect(self._images_ready)
        self._source = source
        if source is not None:
            source.ready.connect(self._images_ready)
        self._images.clear()
        self.viewport().update()

    @property
    def source(self) -> ThumbnailSource | None:
        """Where the thumbnails come from."""
        return self._source

    def set_rows(self, rows: bool) -> None:
        """Rows of a list instead of cards."""
        if rows != self._rows:
            self._rows = rows
            self._lay_out()
            self._show_current()

    def set_style(self, style: CardStyle) -> None:
        """How large cards are and what they show."""
        if style != self._style:
            self._style = style
            self._lay_out()
            self._show_current()

    def set_most_columns(self, columns: int) -> None:
        """Show not more columns of cards than this, with larger images."""
        self._most_columns = columns
        self._lay_out()

    # The current case

    def current(self) -> int:
        """The catalogue row of the current case, -1 for none."""
        return self._model.case_row(self._place) if self._place != NO_PLACE else NONE

    def set_current(self, case_row: int) -> None:
        """Make a case current and scroll to it. If it is not shown, no case is current."""
        self._set_place(self._model.position_of(case_row))

    def current_place(self) -> int:
        return self._place

    @property
    def line_height(self) -> int:
        """The height that one line of cards needs."""
        return self._layout.top + self._layout.pitch

    def card_rect(self, place: int) -> QRect:
        """The rectangle of the card at ``place`` in the viewport."""
        return self._layout.card(place).translated(0, -self.verticalScrollBar().value())

    def drawn_texts(self) -> list[str]:
        """The texts of the visible cards."""
        return [self._describe(place) for place in self.visible_places()]

    def visible_places(self) -> range:
        """The places that are at least partly visible."""
        top = self.verticalScrollBar().value()
        return self._layout.places_between(top, top + self.viewport().height() - 1)

    def sizeHint(self) -> QSize:
        return QSize(560, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(100, 64)

    def _set_place(self, place: int) -> None:
        if place == self._place:
            self._show_current()
            return
        old, self._place = self._place, place
        self._update(old)
        self._update(place)
        self._show_current()
        self._emit_current()

    def _emit_current(self) -> None:
        self.setAccessibleDescription(self._description())
        self.current_changed.emit(self.current())

    def _select_on_focus(self) -> None:
        """Make a visible case current when the keyboard focus arrives, to show where the focus is."""
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if self._place == NO_PLACE and len(self._model) and self.hasFocus() and not by_mouse:
            self._set_place(self.visible_places().start)

    def _description(self) -> str:
        if self._place == NO_PLACE:
            return tr("{n} cases, none selected", n=len(self._model))
        return tr(
            "{place} of {n}: {case}",
            place=self._place + 1,
            n=len(self._model),
            case=self._describe(self._place),
        )

    def _describe(self, place: int) -> str:
        return self._model.describe(place, distance=self._style.shows_distance)

    def _show_current(self) -> None:
        if self._place == NO_PLACE:
            return
        card, bar = self._layout.card(self._place), self.verticalScrollBar()
        margin, height = self._layout.top, self.viewport().height()
        if card.top() - margin < bar.value() or card.height() + 2 * margin > height:
            # If the card is higher than the viewport, show its top with image and rank.
            bar.setValue(card.top() - margin)
        elif card.bottom() + margin > bar.value() + height:
            bar.setValue(card.bottom() + margin - height + 1)

    # Geometry

    def hide_scroll_bar(self) -> None:
        """Use the whole width, for cards in a single line."""
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The bar lies over the cards, so that without it they would end beyond the edge.
        self.setViewportMargins(0, 0, 0, 0)

    def _lay_out(self) -> None:
        width, count = self.viewport().width(), len(self._model)
        if self._rows:
            self._layout = CardLayout.list(width, count, style=self._style, markable=self._judging)
        else:
            self._layout = CardLayout.cards(
                width,
                count,
                height=self.viewport().height(),
                style=self._style,
                markable=self._judging,
                has_lines=self._model.has_lines,
                most_columns=self._most_columns,
            )
        bar, height = self.verticalScrollBar(), self.viewport().height()
        bar.setRange(0, max(0, self._layout.height - height))
        bar.setEnabled(bar.maximum() > 0)
        bar.setPageStep(max(1, height - self._layout.pitch // 2))
        bar.setSingleStep(max(1, self._layout.pitch // 3))
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        top = self.verticalScrollBar().value()
        old = self._layout
        first = next(iter(old.places_between(top + old.top, top + old.top)), NO_PLACE)
        within = top - old.card(first).top() if first != NO_PLACE else 0
        self._lay_out()
        if first != NO_PLACE and self._layout.columns != old.columns:
            self.verticalScrollBar().setValue(self._layout.card(first).top() + within)
        super().resizeEvent(event)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._animation.stop()
        self._set_hover(NO_PLACE)
        if abs(dy) < self.viewport().height():
            self.viewport().scroll(0, dy)
        else:
            self._jumping = True
            self.viewport().update()

    def _restyled(self) -> None:
        self._images.clear()
        self._lay_out()

    def _update(self, place: int) -> None:
        if 0 <= place < len(self._model):
            self.viewport().update(self.card_rect(place))

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        touched = event.rect()
        painter.fillRect(touched, colour(theme().panel))
        region = event.region()
        top = self.verticalScrollBar().value()
        draw = CardPainter(
            painter,
            region,
            self._model,
            self._layout,
            self._source,
            self._images,
            self.devicePixelRatioF(),
            refused=bool(self._refused),
        )
        focused = self.hasFocus()
        places = self._layout.places_between(touched.top() + top, touched.bottom() + top)
        self._request_images(places)
        moving = [place for place in self._animation.places if place not in places]
        late = self._images.late
        deadline = time.thread_time() + JUMP_BUDGET_S if self._jumping else math.inf
        time_is_up = False
        # The current card is drawn above the others.
        for place in sorted([*places, *moving], key=self._place.__eq__):
            at = self._layout.card(place).translated(0, -top)
            position = self._animation.position(place)
            if position is not None:
                at.moveTopLeft(position)
            if region.intersects(at):
                row = self._model.case_row(place)
                if time_is_up:
                    draw.draw_empty(at)
                    late.add(row)
                else:
                    draw.draw(place, row, at, self._state(place, row, focused))
                    time_is_up = time.thread_time() > deadline
        painter.end()
        self._jumping = self._jumping and bool(late)
        if late:
            # The next frame may draw other cards.
            self._late_rows |= late
            self._late_timer.start(0)

    def _state(self, place: int, case_row: int, focused: bool) -> CardState:
        """How the card of ``case_row`` at ``place`` is highlighted."""
        return CardState(place == self._place, place == self._hover, focused)

    def _request_images(self, places: range) -> None:
        # The last request is loaded first, so the top images are requested last.
        if self._source is not None:
            side = round(self._layout.image_side * self.devicePixelRatioF())
            shown = self._model.order[places.start : places.stop]
            with_image = shown[self._model.columns.state[shown] == ImageAvailability.OK]
            for row in reversed(self._model.columns.case_row[with_image].tolist()):
                if self._images.get(row) is None:
                    self._source.get_sized(row, side)

    def _draw_late_cards(self) -> None:
        """Draw the visible cards and images that earlier frames had no time for."""
        late, self._late_rows = self._late_rows, set()
        self._update_cases(late)

    def _images_ready(self, case_rows: frozenset[int]) -> None:
        for row in case_rows:
            self._images.forget(row)
        self._update_cases(case_rows)

    def _update_cases(self, case_rows: Set[int]) -> None:
        """Draw the visible cases of ``case_rows`` again, in each line from the first to the last of them: Qt draws in
        a few rectangles faster than in many small ones."""
        places = [place for place in self.visible_places() if self._model.case_row(place) in case_rows]
        for _, line in groupby(places, lambda place: place // self._layout.columns):
            first, *others = map(self.card_rect, line)
            whole = first.united(others[-1]) if others else first
            whole.setHeight(self._layout.pitch)
            self.viewport().update(whole)

    # Hover

    def _place_at(self, point: QPoint) -> int:
        return self._layout.place_at(point + QPoint(0, self.verticalScrollBar().value()))

    def _set_hover(self, place: int) -> None:
        if place == self._hover:
            return
        old, self._hover = self._hover, place
        self._hover_button = 0
        self._update(old)
        self._update(place)
        self.hovered.emit(self._model.case_row(place) if place != NO_PLACE else NONE)

    def _update_hover(self) -> None:
        """After cards have moved: find the card under the mouse."""
        if self.viewport().underMouse():
            self._set_hover(self._place_at(self.viewport().mapFromGlobal(QCursor.pos())))

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(event.pos())
            if place == NO_PLACE:
                QToolTip.hideText()
            else:
                QToolTip.showText(
                    event.globalPos(), self._tooltip(place, event.pos()), self, self.card_rect(place)
                )
            return True
        return super().viewportEvent(event)

    def _tooltip(self, place: int, point: QPoint) -> str:
        """What is said of the card at ``place`` with the mouse at ``point``."""
        problem = self._source.problem(self._model.case_row(place)) if self._source is not None else ""
        return plain_tip(self._describe(place) + (f"\n{problem}" if problem else ""))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._select_on_focus()
        self._update(self._place)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._update(self._place)
