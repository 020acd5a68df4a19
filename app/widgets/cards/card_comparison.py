"""Saying that one case is closer to the query than another: by two clicks or keys, or by dragging."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QDropEvent

from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.core.language import tr

NONE = -1
CLOSER, FARTHER = tr("closer"), tr("than this")


class CardComparison(QObject):
    """``closer`` is the row waiting for the one it is closer than; ``compared(closer row, farther row)``."""

    changed = Signal(int)
    compared = Signal(int, int)

    def __init__(self, grid: QObject) -> None:
        super().__init__(grid)
        self._grid = grid
        self.closer = self._below = NONE
        #: Whether cards can be compared at all.
        self.offered = False

    @property
    def pending(self) -> bool:
        return self.closer != NONE

    def begin(self, row: int) -> None:
        """``row`` is the closer one."""
        if self.offered:
            self._set(row)

    def cancel(self) -> bool:
        """Forget what was begun; whether anything was."""
        if not self.pending:
            return False
        self._set(NONE)
        return True

    def finish(self, row: int) -> bool:
        """``row`` is the farther one; whether that made a comparison."""
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

    def role(self, row: int, *, aimed: bool) -> str:
        """What the case is about to be; ``aimed``: the mouse or the keyboard is at it. Empty for nothing."""
        if row == self.closer:
            return CLOSER
        return FARTHER if row == self._below or (self.pending and aimed) else ""

    # A card carried onto another

    def carries(self, event: QDropEvent) -> bool:
        """Whether it is one of this grid's own cards."""
        return self.offered and event.source() is self._grid and dragged_case(event.mimeData()) is not None

    def over(self, event: QDropEvent, row: int) -> bool:
        """The card carried is over ``row`` now; whether it can be let go there."""
        here = self.carries(event) and row not in (NONE, dragged_case(event.mimeData()))
        below = row if here else NONE
        if below != self._below:
            self._below = below
            self.changed.emit(self.closer)
        return here

    def leave(self) -> None:
        """It is over no card any more."""
        if self._below != NONE:
            self._below = NONE
            self.changed.emit(self.closer)

    def dropped(self, event: QDropEvent, row: int) -> bool:
        """It was let go over ``row``; whether that made a comparison."""
        here, carried = self.over(event, row), dragged_case(event.mimeData())
        self.leave()
        if here and carried is not None:
            self.compared.emit(carried, row)
        return here
