"""Cards, or rows, of any number of cases: laid out, painted where they are seen, gliding when told."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QCursor, QFocusEvent, QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QToolTip, QWidget

from semblance.app.shell import theme as themes
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.theme import colour, plain_tip, theme
from semblance.app.widgets.cards.card_animation import CardAnimation
from semblance.app.widgets.cards.card_layout import NO_PLACE, CardLayout
from semblance.app.widgets.cards.card_painter import CardPainter, CardState, ScaledImages
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import ImageState

NONE = -1


class CardView(QAbstractScrollArea):
    """Shows a :class:`CaseModel`, one case of it current; signals speak of catalogue rows.

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
        self._place = self._hover = NO_PLACE
        self._motion = CardAnimation(self)
        self._motion.moved.connect(self.viewport().update)
        self._motion.ended.connect(self._hover_again)
        self._layout = CardLayout.cards(1, 0)
        self._again = one_shot(self, self._finish_late)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAutoFillBackground(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Its coming and going would change the number of columns.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Cases"))
        themes.theme_signals.changed.connect(self._restyled)

    # What is shown

    def model(self) -> CaseModel:
        return self._model

    def set_model(self, model: CaseModel, *, keep_place: bool = True, glide: bool = False) -> None:
        """Show ``model``; the current case stays current where it still is shown.

        ``keep_place`` false scrolls to the top, as for a new ranking. With ``glide`` cards move to their new
        places; a current case that leaves what is seen hands over to the one that takes its place.
        """
        before, seen = self.current(), self._seen() if glide else {}
        place_before = self._place
        self._motion.stop()
        self._model = model
        self._place = model.place_of(before) if before != NONE else NO_PLACE
        self._hover = NO_PLACE
        self._lay_out()
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() if keep_place else 0)
        if glide:
            if self._place not in self.visible_places() and place_before != NO_PLACE:
                self._place = min(place_before, len(model) - 1)
            self._motion.start(self._ways(seen))
        self.viewport().update()
        if self.current() != before:
            self._tell_current()
        else:
            self.setAccessibleDescription(self._in_words())
        self._show_keyboard()
        self._hover_again()

    def _seen(self) -> dict[int, QPoint]:
        """Where the cards that can be seen are, by row."""
        return {self._model.case_row(p): self.card_rect(p).topLeft() for p in self.visible_places()}

    def _ways(self, seen: dict[int, QPoint]) -> dict[int, tuple[QPoint, QPoint]]:
        """From where to where cards glide that were or are seen; the others are just there."""
        height, pitch = self.viewport().height(), self._layout.pitch

        def near(point: QPoint) -> QPoint:
            # From far away they come in, and leave, over the nearest edge.
            return QPoint(point.x(), max(-pitch, min(height, point.y())))

        ways = {}
        for row, start in seen.items():
            place = self._model.place_of(row)
            if place != NO_PLACE:
                ways[place] = (start, near(self.card_rect(place).topLeft()))
        return ways

    def set_judgements(self, judgements: dict[int, int]) -> None:
        """Judgements by catalogue row: 1 alike, -1 not alike."""
        self._model = replace(self._model, judgements=judgements)
        self.setAccessibleDescription(self._in_words())
        self.viewport().update()

    def set_source(self, source: ThumbnailSource | None) -> None:
        if self._source is not None:
            self._source.ready.disconnect(self._images_ready)
        self._source = source
        if source is not None:
            source.ready.connect(self._images_ready)
        self._images.clear()
        self.viewport().update()

    def set_rows(self, rows: bool) -> None:
        """Rows of a list instead of cards."""
        if rows != self._rows:
            self._rows = rows
            self._lay_out()
            self._show_current()

    # The current case

    def current(self) -> int:
        """The catalogue row of the current case, -1 where there is none."""
        return self._model.case_row(self._place) if self._place != NO_PLACE else NONE

    def set_current(self, case_row: int) -> None:
        """Make a case current and scroll to it; one that is not shown leaves none current."""
        self._set_place(self._model.place_of(case_row))

    def current_place(self) -> int:
        return self._place

    @property
    def line_height(self) -> int:
        """What one line of cards needs."""
        return self._layout.top + self._layout.pitch

    def card_rect(self, place: int) -> QRect:
        """Where the card at ``place`` now is in the viewport."""
        return self._layout.card(place).translated(0, -self.verticalScrollBar().value())

    def visible_places(self) -> range:
        """The places of which something can be seen."""
        top = self.verticalScrollBar().value()
        return self._layout.between(top, top + self.viewport().height() - 1)

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
        self._tell_current()

    def _tell_current(self) -> None:
        self.setAccessibleDescription(self._in_words())
        self.current_changed.emit(self.current())

    def _show_keyboard(self) -> None:
        """Without a current case nothing would show that the keyboard is here."""
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if self._place == NO_PLACE and len(self._model) and self.hasFocus() and not by_mouse:
            self._set_place(self.visible_places().start)

    def _in_words(self) -> str:
        if self._place == NO_PLACE:
            return tr("{n} cases, none selected", n=len(self._model))
        return tr(
            "{place} of {n}: {words}",
            place=self._place + 1,
            n=len(self._model),
            words=self._model.words(self._place),
        )

    def _show_current(self) -> None:
        if self._place == NO_PLACE:
            return
        card, bar = self._layout.card(self._place), self.verticalScrollBar()
        room, height = self._layout.top, self.viewport().height()
        if card.top() - room < bar.value() or card.height() + 2 * room > height:
            # Of a card that is higher than what is seen, its image and rank are at the top.
            bar.setValue(card.top() - room)
        elif card.bottom() + room > bar.value() + height:
            bar.setValue(card.bottom() + room - height + 1)

    # Geometry

    def _lay_out(self) -> None:
        width, count = self.viewport().width(), len(self._model)
        if self._rows:
            self._layout = CardLayout.list(width, count)
        else:
            self._layout = CardLayout.cards(width, count)
        bar, height = self.verticalScrollBar(), self.viewport().height()
        bar.setRange(0, max(0, self._layout.height - height))
        bar.setEnabled(bar.maximum() > 0)
        bar.setPageStep(max(1, height - self._layout.pitch // 2))
        bar.setSingleStep(max(1, self._layout.pitch // 3))
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        top = self.verticalScrollBar().value()
        old = self._layout
        first = next(iter(old.between(top + old.top, top + old.top)), NO_PLACE)
        within = top - old.card(first).top() if first != NO_PLACE else 0
        self._lay_out()
        if first != NO_PLACE and self._layout.columns != old.columns:
            self.verticalScrollBar().setValue(self._layout.card(first).top() + within)
        super().resizeEvent(event)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._motion.stop()
        self._set_hover(NO_PLACE)
        if abs(dy) < self.viewport().height():
            self.viewport().scroll(0, dy)
        else:
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
            self._model,
            self._layout,
            self._source,
            self._images,
            self.devicePixelRatioF(),
            judging=self._judging,
        )
        focused = self.hasFocus()
        places = self._layout.between(touched.top() + top, touched.bottom() + top)
        self._ask_for(places)
        moving = [place for place in self._motion.places if place not in places]
        # The current card lies on top of those it passes.
        for place in sorted({*places, *moving}, key=lambda place: place == self._place):
            at = self._layout.card(place).translated(0, -top)
            at.moveTopLeft(self._motion.at(place) or at.topLeft())
            if region.intersects(at):
                draw.draw(place, at, self._state(place, focused))
        painter.end()
        if self._images.late:
            self._again.start(0)

    def _state(self, place: int, focused: bool) -> CardState:
        """How the card at ``place`` stands out."""
        return CardState(place == self._place, place == self._hover, focused)

    def _ask_for(self, places: range) -> None:
        # What is asked for last comes first: from the bottom up, the top ones are there soonest.
        if self._source is not None:
            for place in reversed(places):
                if self._model.columns.state[self._model.index(place)] == ImageState.OK:
                    row = self._model.case_row(place)
                    if self._images.get(row) is None:
                        self._source.get(row)

    def _finish_late(self) -> None:
        """Draw what the last frame had no time for, where it still can be seen."""
        late = self._images.late
        shown = {place: self._model.case_row(place) for place in self.visible_places()}
        late.intersection_update(shown.values())
        for place, row in shown.items():
            if row in late:
                self._update(place)

    def _images_ready(self, case_rows: frozenset[int]) -> None:
        for row in case_rows:
            self._images.forget(row)
        for place in self.visible_places():
            if self._model.case_row(place) in case_rows:
                self._update(place)

    # What the mouse is over

    def _place_at(self, point: QPoint) -> int:
        return self._layout.place_at(point + QPoint(0, self.verticalScrollBar().value()))

    def _set_hover(self, place: int) -> None:
        if place == self._hover:
            return
        old, self._hover = self._hover, place
        self._update(old)
        self._update(place)
        self.hovered.emit(self._model.case_row(place) if place != NO_PLACE else NONE)

    def _hover_again(self) -> None:
        """Cards have moved: another one is below the mouse."""
        if self.viewport().underMouse():
            self._set_hover(self._place_at(self.viewport().mapFromGlobal(QCursor.pos())))

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(event.pos())
            if place == NO_PLACE:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self._tip(place), self, self.card_rect(place))
            return True
        return super().viewportEvent(event)

    def _tip(self, place: int) -> str:
        problem = self._source.problem(self._model.case_row(place)) if self._source is not None else ""
        return plain_tip(self._model.words(place) + (f"\n{problem}" if problem else ""))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_keyboard()
        self._update(self._place)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._update(self._place)
