"""A grid, or list, of cases: any number of them, painting only what is seen."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QToolTip, QWidget

from app import theme as themes
from app.models.deck import Deck
from app.models.thumbnails import ThumbnailSource
from app.theme import colour, plain_tip, theme
from app.widgets.card_layout import NO_PLACE, USUAL, CardLayout
from app.widgets.card_painter import CardPainter, CardState, ScaledPictures
from app.widgets.card_pieces import on_relink, verdict_at
from app.widgets.case_drag import drag, mime_data
from core.library.columns import PictureState

NONE = -1

_STEPS: dict[int, tuple[int, int, int]] = {
    Qt.Key.Key_Left: (-1, 0, 0),
    Qt.Key.Key_Right: (1, 0, 0),
    Qt.Key.Key_Up: (0, -1, 0),
    Qt.Key.Key_Down: (0, 1, 0),
    Qt.Key.Key_PageUp: (0, 0, -1),
    Qt.Key.Key_PageDown: (0, 0, 1),
}
_ENDS: dict[int, int] = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: -1}
_ACTIVATE = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class CaseGrid(QAbstractScrollArea):
    """Shows a :class:`~app.models.deck.Deck`; all signals speak of catalogue rows.

    ``current_changed(case_row)`` (-1: none) · ``activated(case_row)`` double click, Enter or Space ·
    ``menu_wanted(case_row, global position)`` · ``judged(case_row, 1 or -1)`` with the thumbs, when
    ``set_judging(True)`` · ``relink_wanted(case_row)`` · ``hovered(case_row)``.
    Cases can be dragged out; see :mod:`app.widgets.case_drag`.
    """

    current_changed = Signal(int)
    activated = Signal(int)
    menu_wanted = Signal(int, QPoint)
    judged = Signal(int, int)
    relink_wanted = Signal(int)
    hovered = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._deck = Deck()
        self._source: ThumbnailSource | None = None
        self._pictures = ScaledPictures()
        self._rows, self._smallest, self._judging = False, USUAL, False
        self._place = self._hover = NO_PLACE
        self._pressed_at: QPoint | None = None
        self._layout = CardLayout.cards(1, 0)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self._finish_late)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAutoFillBackground(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Its coming and going would change the number of columns.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Cases")
        themes.news.changed.connect(self._restyled)

    # What is shown

    def deck(self) -> Deck:
        return self._deck

    def set_deck(self, deck: Deck, *, keep_place: bool = True) -> None:
        """Show ``deck``; the current case stays current where it still is shown.

        ``keep_place`` false scrolls to the top, as for a new ranking.
        """
        before = self.current()
        self._deck = deck
        self._place = deck.place_of(before) if before != NONE else NO_PLACE
        self._hover = NO_PLACE
        self._lay_out()
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() if keep_place else 0)
        self.viewport().update()
        if self.current() != before:
            self._tell_current()

    def set_judgements(self, judgements: dict[int, int]) -> None:
        """Judgements by catalogue row: 1 alike, -1 not alike."""
        self._deck = replace(self._deck, judgements=judgements)
        self.viewport().update()

    def set_source(self, source: ThumbnailSource | None) -> None:
        if self._source is not None:
            self._source.ready.disconnect(self._pictures_ready)
        self._source = source
        if source is not None:
            source.ready.connect(self._pictures_ready)
        self._pictures.clear()
        self.viewport().update()

    def set_rows(self, rows: bool) -> None:
        """Rows of a list instead of cards."""
        if rows != self._rows:
            self._rows = rows
            self._lay_out()
            self._show_current()

    def set_smallest(self, side: int) -> None:
        """The smallest picture a card may have, 64 to 160 px; more room makes them grow."""
        if side != self._smallest:
            self._smallest = side
            self._lay_out()
            self._show_current()

    def set_judging(self, on: bool) -> None:
        """Whether cards offer thumbs up and down."""
        self._judging = on
        self.viewport().update()

    # The current case

    def current(self) -> int:
        """The catalogue row of the current case, -1 where there is none."""
        return self._deck.case_row(self._place) if self._place != NO_PLACE else NONE

    def set_current(self, case_row: int) -> None:
        """Make a case current and scroll to it; one that is not shown leaves none current."""
        self._set_place(self._deck.place_of(case_row))

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
        if self._place != NO_PLACE:
            words = self._deck.words(self._place)
            self.setAccessibleDescription(f"{self._place + 1} of {len(self._deck)}: {words}")
        else:
            self.setAccessibleDescription(f"{len(self._deck)} cases, none chosen")
        self.current_changed.emit(self.current())

    def _show_current(self) -> None:
        if self._place == NO_PLACE:
            return
        card, bar = self._layout.card(self._place), self.verticalScrollBar()
        room = self._layout.top
        if card.top() - room < bar.value():
            bar.setValue(card.top() - room)
        elif card.bottom() + room > bar.value() + self.viewport().height():
            bar.setValue(card.bottom() + room - self.viewport().height() + 1)

    # Geometry

    def _lay_out(self) -> None:
        width, count = self.viewport().width(), len(self._deck)
        if self._rows:
            self._layout = CardLayout.list(width, count)
        else:
            self._layout = CardLayout.cards(width, count, self._smallest)
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
        self._set_hover(NO_PLACE)
        if abs(dy) < self.viewport().height():
            self.viewport().scroll(0, dy)
        else:
            self.viewport().update()

    def _restyled(self) -> None:
        self._pictures.clear()
        self._lay_out()

    def _update(self, place: int) -> None:
        if 0 <= place < len(self._deck):
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
            self._deck,
            self._layout,
            self._source,
            self._pictures,
            self.devicePixelRatioF(),
            judging=self._judging,
        )
        focused = self.hasFocus()
        places = self._layout.between(touched.top() + top, touched.bottom() + top)
        self._ask_for(places)
        for place in places:
            at = self._layout.card(place).translated(0, -top)
            if region.intersects(at):
                draw.draw(place, at, CardState(place == self._place, place == self._hover, focused))
        painter.end()
        if self._pictures.late:
            self._again.start(0)

    def _ask_for(self, places: range) -> None:
        # What is asked for last comes first: from the bottom up, the top ones are there soonest.
        if self._source is not None:
            for place in reversed(places):
                if self._deck.columns.state[self._deck.index(place)] == PictureState.OK:
                    row = self._deck.case_row(place)
                    if self._pictures.get(row) is None:
                        self._source.get(row)

    def _finish_late(self) -> None:
        """Draw what the last frame had no time for, where it still can be seen."""
        late = self._pictures.late
        shown = {place: self._deck.case_row(place) for place in self.visible_places()}
        late.intersection_update(shown.values())
        for place, row in shown.items():
            if row in late:
                self._update(place)

    def _pictures_ready(self, case_rows: frozenset[int]) -> None:
        for row in case_rows:
            self._pictures.forget(row)
        for place in self.visible_places():
            if self._deck.case_row(place) in case_rows:
                self._update(place)

    # Mouse

    def _place_at(self, point: QPoint) -> int:
        return self._layout.place_at(point + QPoint(0, self.verticalScrollBar().value()))

    def _set_hover(self, place: int) -> None:
        if place == self._hover:
            return
        old, self._hover = self._hover, place
        self._update(old)
        self._update(place)
        self.hovered.emit(self._deck.case_row(place) if place != NO_PLACE else NONE)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if place == NO_PLACE:
            return
        if event.button() == Qt.MouseButton.LeftButton and self._pressed_piece(place, event):
            return
        self._set_place(place)
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed_at = event.position().toPoint()

    def _pressed_piece(self, place: int, event: QMouseEvent) -> bool:
        """Whether a thumb or the word Relink took the click."""
        if self._rows:
            return False
        point, row, card = event.position().toPoint(), self._deck.case_row(place), self.card_rect(place)
        verdict = verdict_at(card, self._layout, point) if self._judging else 0
        if verdict:
            self.judged.emit(row, verdict)
            return True
        if self._is_missing(place) and on_relink(card, self._layout, point):
            self._set_place(place)
            self.relink_wanted.emit(row)
            return True
        return False

    def _is_missing(self, place: int) -> bool:
        return int(self._deck.columns.state[self._deck.index(place)]) == PictureState.MISSING

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        self._set_hover(self._place_at(point))
        if self._pressed_at is None or not event.buttons() & Qt.MouseButton.LeftButton:
            return
        if (point - self._pressed_at).manhattanLength() >= QApplication.startDragDistance():
            self._pressed_at = None
            if self._place != NO_PLACE:
                drag(self, mime_data(self._deck, self._place), self._pictures.get(self.current()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or place == NO_PLACE:
            return
        if not self._pressed_piece(place, event):
            self._set_place(place)
            self.activated.emit(self.current())

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(NO_PLACE)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            place, where = self._place, QPoint()
            if place != NO_PLACE:
                where = self.viewport().mapToGlobal(self.card_rect(place).center())
        else:
            place = self._place_at(self.viewport().mapFromGlobal(event.globalPos()))
            where = event.globalPos()
        if place != NO_PLACE:
            self._set_place(place)
            self.menu_wanted.emit(self._deck.case_row(place), where)

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
        problem = self._source.problem(self._deck.case_row(place)) if self._source is not None else ""
        return plain_tip(self._deck.words(place) + (f"\n{problem}" if problem else ""))

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if not len(self._deck) or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif key in _STEPS:
            columns, lines, pages = _STEPS[key]
            page = pages * max(1, self.viewport().height() // self._layout.pitch)
            self._set_place(self._layout.moved(self._place, columns, lines, page))
        elif key in _ENDS:
            self._set_place(_ENDS[key] % len(self._deck))
        elif key in _ACTIVATE:
            if self._place != NO_PLACE:
                self.activated.emit(self.current())
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._update(self._place)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._update(self._place)
