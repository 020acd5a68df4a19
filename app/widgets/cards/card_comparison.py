"""The judgement that one case is closer to the query than another, by two clicks, keys or dragging."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QDropEvent

from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.core.language import tr

NONE = -1
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
