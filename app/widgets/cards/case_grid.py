"""A grid or list of cases that can be selected, judged, compared and dragged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from semblance.app.shell.theme import plain_tip
from semblance.app.widgets.cards.card_layout import (
    NO_PLACE,
    card_feedback_buttons,
    feedback_at,
    is_on_near_duplicates,
    is_on_relink,
)
from semblance.app.widgets.cards.card_painter import CardState
from semblance.app.widgets.cards.card_view import NONE, CardView
from semblance.app.widgets.cards.case_drag import drag, dragged_case, is_drag, mime_data
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns, ImageAvailability, Indices, Rows

NO_ROWS: Rows = np.empty(0, dtype=np.int64)


class Selection:
    """``rows`` (k,): selected catalogue rows, ascending; none while only the current case is selected.

    ``anchor``: the row at which a range starts.
    """

    def __init__(self) -> None:
        self.rows = NO_ROWS
        self.anchor = NONE

    def __contains__(self, row: int) -> bool:
        place = int(np.searchsorted(self.rows, row))
        return place < len(self.rows) and int(self.rows[place]) == row

    def select_only(self, row: int) -> None:
        """Select ``row`` alone."""
        self.rows, self.anchor = NO_ROWS, row

    def replace(self, rows: Rows, anchor: int) -> None:
        """Select ``rows``, ascending, instead."""
        self.rows, self.anchor = rows, anchor

    def toggle(self, row: int, current: int) -> None:
        """Add ``row`` to the selection or remove it. Without a selection ``current`` counts as selected."""
        chosen = self.rows if len(self.rows) or current == NONE else np.array([current], dtype=np.int64)
        self.rows, self.anchor = np.setxor1d(chosen, [row]), row

    def extend_to(self, model: CaseModel, place: int, current: int) -> None:
        """Select all cases from the anchor to ``place``."""
        if self.anchor == NONE:
            self.anchor = current
        start = model.position_of(self.anchor) if self.anchor != NONE else place
        first, last = sorted((start if start >= 0 else place, place))
        self._select(model.columns, model.order[first : last + 1])

    def select_all(self, model: CaseModel) -> None:
        """Select all cases of ``model``."""
        self._select(model.columns, model.order)

    def _select(self, columns: CaseColumns, indices: Indices) -> None:
        is_selected = np.zeros(len(columns), dtype=bool)
        is_selected[indices] = True
        self.rows = columns.case_row[is_selected]

    def remove_missing(self, model: CaseModel) -> None:
        """Deselect the rows that ``model`` does not contain."""
        self.rows = self.rows[model.contains(self.rows)]

    def ordered_rows(self, model: CaseModel, current: int) -> Rows:
        """The selected rows in the order shown, or ``current`` if no other is selected."""
        if not len(self.rows):
            return self.rows if current == NONE else np.array([current], dtype=np.int64)
        is_selected = np.zeros(len(model.columns) + 1, dtype=bool)
        is_selected[model.columns.indices_of_rows(self.rows)] = True
        # Rows of no case were marked in the last place.
        return model.columns.case_row[model.order[is_selected[:-1][model.order]]]


CLOSER, FARTHER = tr("closer"), tr("than this")


class CardComparison(QObject):
    """``closer``: the row of the closer case while the farther one is not chosen yet.

    ``compared(closer row, farther row)``: both are chosen. ``changed(closer)``: draw the cards again.
    """

    changed = Signal(int)
    compared = Signal(int, int)

    def __init__(self, grid: QObject) -> None:
        super().__init__(grid)
        self._grid = grid
        self.closer = self._drop_row = NONE
        #: Whether cards can be compared.
        self.enabled = False

    @property
    def pending(self) -> bool:
        return self.closer != NONE

    def begin(self, row: int) -> None:
        """Choose ``row`` as the closer case."""
        if self.enabled:
            self._set(row)

    def cancel(self) -> bool:
        """Cancel a comparison; returns whether there was one."""
        if not self.pending:
            return False
        self._set(NONE)
        return True

    def finish(self, row: int) -> bool:
        """Choose ``row`` as the farther case; returns whether that completed a comparison."""
        closer = self.closer
        if closer in (NONE, row) or row == NONE:
            return False
        self._set(NONE)
        self.compared.emit(closer, row)
        return True

    def _set(self, row: int) -> None:
        if row != self.closer:
            self.closer = row
            self.changed.emit(row)

    def role_text(self, row: int, *, targeted: bool) -> str:
        """The text on a card that takes part in the comparison, else empty.

        ``targeted``: the mouse or the keyboard is at the card.
        """
        if row == self.closer:
            return CLOSER
        return FARTHER if row == self._drop_row or (self.pending and targeted) else ""

    # Drag and drop

    def accepts(self, event: QDropEvent) -> bool:
        """Whether one of this grid's own cards is dragged."""
        return self.enabled and event.source() is self._grid and dragged_case(event.mimeData()) is not None

    def drag_over(self, event: QDropEvent, row: int) -> bool:
        """A card is dragged over ``row``; returns whether it can be dropped there."""
        can_drop = self.accepts(event) and row not in (NONE, dragged_case(event.mimeData()))
        drop_row = row if can_drop else NONE
        if drop_row != self._drop_row:
            self._drop_row = drop_row
            self.changed.emit(self.closer)
        return can_drop

    def drag_leave(self) -> None:
        """No card is dragged over the grid any more."""
        if self._drop_row != NONE:
            self._drop_row = NONE
            self.changed.emit(self.closer)

    def drop(self, event: QDropEvent, row: int) -> bool:
        """A card was dropped on ``row``; returns whether that completed a comparison."""
        can_drop, dragged = self.drag_over(event, row), dragged_case(event.mimeData())
        self.drag_leave()
        if can_drop and dragged is not None:
            self.compared.emit(dragged, row)
        return can_drop


_ACTIVATE = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class CaseGrid(CardView):
    """Adds mouse and keyboard input to :class:`CardView`, with the signals

    ``activated(case_row)`` double click, Enter or Space · ``menu_requested(case_row, global position)`` ·
    ``judged(case_row, 1 or -1)`` a click on + or -, after ``set_judging(True)`` ·
    ``relink_requested(case_row)`` · ``near_duplicates_requested(case_row)`` a click on the number of cases of the same
    lesion · ``slices_scrolled(case_row, steps)`` Shift and the wheel on a card ·
    ``picked(case_row, by_key)`` a click or a key that made one case current, without Ctrl and Shift ·
    ``selection_changed()`` after ``set_multiple(True)``. ``comparison`` records which of two cases is closer. Cases can
    be dragged out, see :mod:`semblance.app.widgets.cards.case_drag`.
    """

    activated = Signal(int)
    picked = Signal(int, bool)
    menu_requested = Signal(int, QPoint)
    judged = Signal(int, int)
    relink_requested = Signal(int)
    near_duplicates_requested = Signal(int)
    slices_scrolled = Signal(int, int)
    selection_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pressed_at: QPoint | None = None
        self._is_button_pressed = False
        self._wheel_angle = 0
        self._multiple, self._selection = False, Selection()
        #: What the buttons + (1) and - (-1) do, for their tooltips.
        self.mark_tips: Mapping[int, str] = {}
        self.comparison = CardComparison(self)
        self.comparison.changed.connect(lambda _row: self.viewport().update())

    def set_model(self, model: CaseModel, *, keep_scroll: bool = True, animate: bool = False) -> None:
        before = self._selection.rows
        self._selection.remove_missing(model)
        if self.comparison.pending and model.position_of(self.comparison.closer) == NO_PLACE:
            self.comparison.cancel()
        super().set_model(model, keep_scroll=keep_scroll, animate=animate)
        self._emit_selection(before)

    def set_judging(self, on: bool, refused: str = "") -> None:
        """Whether cards have the buttons + and -, a line for what a mark did, and can be compared. ``refused``: why the
        buttons cannot be used now; they are drawn in outline and say it."""
        changed, self._judging, self._refused = on != self._judging, on, refused
        self.comparison.enabled = on and not refused
        if not self.comparison.enabled:
            self.comparison.cancel()
        self.setAcceptDrops(self.comparison.enabled)
        if changed:
            self._lay_out()
        self.viewport().update()

    def mark_rects(self, place: int) -> tuple[QRect, QRect]:
        """The rectangles of + and - on the card at ``place`` in the viewport."""
        return card_feedback_buttons(self.card_rect(place), self._layout)

    def set_multiple(self, on: bool) -> None:
        """Whether Ctrl and Shift select several cases."""
        self._multiple = on

    # Selection

    def selected(self) -> Rows:
        """(k,) the catalogue rows of the selected cases in the order shown, or of the current case."""
        return self._selection.ordered_rows(self._model, self.current())

    @property
    def selection(self) -> Rows:
        """The catalogue rows of several selected cases, ascending; none while only the current case is selected."""
        return self._selection.rows

    def mirror(self, current: int, selection: Rows) -> None:
        """Take over the current case and the selection of another list, as far as their cases are shown here."""
        before = self._selection.rows
        self._selection.replace(selection[self._model.contains(selection)], current)
        self.set_current(current)
        self._emit_selection(before)

    def _choose(self, place: int, modifiers: Qt.KeyboardModifier) -> None:
        """Make a place current and change the selection by Ctrl or Shift."""
        row, before = self._model.case_row(place), self._selection.rows
        if self._multiple and modifiers & Qt.KeyboardModifier.ControlModifier:
            self._selection.toggle(row, self.current())
        elif self._multiple and modifiers & Qt.KeyboardModifier.ShiftModifier:
            self._selection.extend_to(self._model, place, self.current())
        else:
            self._selection.select_only(row)
        self._set_place(place)
        self._emit_selection(before)

    def _emit_selection(self, before: Rows) -> None:
        if not np.array_equal(self._selection.rows, before):
            self.viewport().update()
            self.selection_changed.emit()

    def _state(self, place: int, case_row: int, focused: bool) -> CardState:
        hovered = place == self._hover
        chosen = case_row in self._selection
        targeted = hovered or (self._hover == NO_PLACE and place == self._place)
        role = self.comparison.role_text(case_row, targeted=targeted)
        button = self._hover_button if hovered else 0
        return CardState(
            place == self._place, hovered, focused, chosen, role, button, self._is_button_pressed
        )

    def _description(self) -> str:
        several = len(self._selection.rows)
        return super()._description() + (tr("; {n} selected", n=several) if several > 1 else "")

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = None
        place, left = self._place_at(event.position().toPoint()), event.button() == Qt.MouseButton.LeftButton
        if place == NO_PLACE:
            return
        row = self._model.case_row(place)
        if left and (self._press_part(place, event) or self.comparison.finish(row)):
            return
        if left or row not in self._selection:
            self._choose(place, event.modifiers() if left else Qt.KeyboardModifier.NoModifier)
        else:
            self._set_place(place)
        if left:
            self._pressed_at = event.position().toPoint()

    def _press_part(self, place: int, event: QMouseEvent) -> bool:
        """Whether a clickable part of the card handled the click."""
        point, row, card = event.position().toPoint(), self._model.case_row(place), self.card_rect(place)
        verdict = self._button_at(place, point)
        if verdict:
            self._is_button_pressed = not self._refused
            self._update(place)
            # The first click of two may have moved another card under the mouse.
            if self._refused:
                QToolTip.showText(event.globalPosition().toPoint(), plain_tip(self._refused), self, card)
            elif event.type() != QEvent.Type.MouseButtonDblClick:
                self.judged.emit(row, verdict)
            return True
        counts = self._model.near_duplicates
        if counts is not None and counts[place] > 0 and is_on_near_duplicates(card, self._layout, point):
            self._set_place(place)
            if event.type() != QEvent.Type.MouseButtonDblClick:
                self.near_duplicates_requested.emit(row)
            return True
        if not self._rows and self._is_missing(place) and is_on_relink(card, self._layout, point):
            self._set_place(place)
            self.relink_requested.emit(row)
            return True
        return False

    def _tooltip(self, place: int, point: QPoint) -> str:
        if button := self._button_at(place, point):
            return plain_tip(self._refused or self.mark_tips.get(button, ""))
        return super()._tooltip(place, point)

    def _button_at(self, place: int, point: QPoint) -> int:
        """1 on the button + of a card, -1 on the button -, 0 elsewhere."""
        if not self._judging or place == NO_PLACE:
            return 0
        return feedback_at(self.card_rect(place), self._layout, point)

    def _is_missing(self, place: int) -> bool:
        return int(self._model.columns.state[self._model.index(place)]) == ImageAvailability.MISSING

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        place = self._place_at(point)
        self._set_hover(place)
        button = self._button_at(place, point)
        if button != self._hover_button:
            self._hover_button = button
            self._update(place)
        if self._pressed_at is not None and is_drag(self._pressed_at, event):
            self._pressed_at = None
            if self._place != NO_PLACE:
                drag(
                    self,
                    mime_data(self._model, self._place),
                    self._images.get(self.current()),
                    self._source,
                )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._is_button_pressed:
            self._is_button_pressed = False
            self._update(self._hover)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        # A case that was dragged was not clicked.
        was_clicked, self._pressed_at = self._pressed_at is not None, None
        if was_clicked and not event.modifiers() and self.current() != NONE:
            self.picked.emit(self.current(), False)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or place == NO_PLACE:
            return
        if not self._press_part(place, event) and not event.modifiers():
            self._choose(place, event.modifiers())
            self.activated.emit(self.current())

    def wheelEvent(self, event: QWheelEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if place == NO_PLACE or not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
            return
        event.accept()
        # Some systems turn the wheel sideways while Shift is held.
        self._wheel_angle += event.angleDelta().y() or event.angleDelta().x()
        steps = int(self._wheel_angle / 120)
        self._wheel_angle -= 120 * steps
        if steps:
            self.slices_scrolled.emit(self._model.case_row(place), -steps)

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
            if self._model.case_row(place) in self._selection:
                self._set_place(place)
            else:
                self._choose(place, Qt.KeyboardModifier.NoModifier)
            self.menu_requested.emit(self._model.case_row(place), where)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, held = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        reaching = self._multiple and held == Qt.KeyboardModifier.ShiftModifier
        place = self._layout.place_after_key(key, self._place, self.viewport().height())
        if key == Qt.Key.Key_Escape and not held and self._deselect():
            return
        if self._multiple and event.matches(QKeySequence.StandardKey.SelectAll):
            before = self._selection.rows
            self._selection.select_all(self._model)
            self._emit_selection(before)
        elif not len(self._model) or (held and not reaching):
            super().keyPressEvent(event)
        elif place is not None:
            # While the keyboard is used, the position of the mouse is ignored.
            self._set_hover(NO_PLACE)
            self._choose(place, held)
            if not held:
                self.picked.emit(self.current(), True)
        elif key in _ACTIVATE and not held:
            if self._place != NO_PLACE and not self.comparison.finish(self.current()):
                self.activated.emit(self.current())
        else:
            event.ignore()

    def _deselect(self) -> bool:
        """Cancel a comparison or a selection of several cases; returns whether there was one."""
        if self.comparison.cancel():
            return True
        before = self._selection.rows
        self._selection.select_only(self.current())
        self._emit_selection(before)
        return len(before) > 0

    # Drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        event.setAccepted(self.comparison.accepts(event))

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.setAccepted(self.comparison.drag_over(event, self._row_at(event)))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.comparison.drag_leave()

    def dropEvent(self, event: QDropEvent) -> None:
        event.setAccepted(self.comparison.drop(event, self._row_at(event)))

    def _row_at(self, event: QDropEvent) -> int:
        place = self._place_at(event.position().toPoint())
        return self._model.case_row(place) if place != NO_PLACE else NONE
