"""A pointer on the image that is moved with the keyboard, for tools that need clicks."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPainterPath

from semblance.app.shell.theme import theme
from semblance.app.viewer import tools
from semblance.app.viewer.region_painting import stroke
from semblance.app.viewer.region_tool import ARROWS

#: Tools for which the arrow keys move the pointer, and Enter or the space bar clicks.
POINTED_TOOLS = frozenset((tools.SEGMENT, tools.POLYGON))
#: Widget pixels of a step, and of one with Shift.
STEP, LARGE_STEP = 4, 40
_ARM, _GAP = 9, 3
_SHIFT = Qt.KeyboardModifier.ShiftModifier


class KeyboardPointer:
    """``at``: the position in the widget; ``None`` while the mouse is used."""

    def __init__(self) -> None:
        self.at: QPointF | None = None

    def begin(self, size: QSize) -> None:
        """Point at the centre of a widget of this size."""
        self.at = QPointF(size.width() / 2, size.height() / 2)

    def move(self, event: QKeyEvent, size: QSize) -> bool:
        """Move by an arrow key inside the widget; returns whether it was one."""
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() not in ARROWS or held not in (Qt.KeyboardModifier.NoModifier, _SHIFT):
            return False
        if self.at is None:
            self.begin(size)
        assert self.at is not None
        step = LARGE_STEP if held == _SHIFT else STEP
        right, down = ARROWS[event.key()]
        x, y = self.at.x() + right * step, self.at.y() + down * step
        self.at = QPointF(min(max(x, 0.0), size.width() - 1.0), min(max(y, 0.0), size.height() - 1.0))
        return True

    def paint(self, painter: QPainter) -> None:
        """A small cross, open in the middle."""
        if self.at is None:
            return
        path, x, y = QPainterPath(), self.at.x(), self.at.y()
        for right, down in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            path.moveTo(x + right * _GAP, y + down * _GAP)
            path.lineTo(x + right * _ARM, y + down * _ARM)
        stroke(painter, path, theme().region)
