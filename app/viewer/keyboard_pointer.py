"""A place on the image that the keyboard points at, for tools that want a click."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPainterPath

from semblance.app.shell.theme import theme
from semblance.app.viewer import tools
from semblance.app.viewer.region_painting import stroke
from semblance.app.viewer.region_tool import ARROWS

#: Tools for which arrows aim, and Enter or the space bar clicks there.
AIMED = frozenset((tools.SEGMENT, tools.POLYGON))
#: Widget pixels of a step, and of one with Shift.
STEP, FAR = 4, 40
_ARM, _GAP = 9, 3
_SHIFT = Qt.KeyboardModifier.ShiftModifier


class KeyboardPointer:
    """``at``: where the keyboard points, in the widget; ``None`` while the mouse leads."""

    def __init__(self) -> None:
        self.at: QPointF | None = None

    def begin(self, room: QSize) -> None:
        """Point at the middle of a widget so large."""
        self.at = QPointF(room.width() / 2, room.height() / 2)

    def move(self, event: QKeyEvent, room: QSize) -> bool:
        """Whether a key moved it; it stays in the widget."""
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() not in ARROWS or held not in (Qt.KeyboardModifier.NoModifier, _SHIFT):
            return False
        if self.at is None:
            self.begin(room)
        assert self.at is not None
        far = FAR if held == _SHIFT else STEP
        right, down = ARROWS[event.key()]
        x, y = self.at.x() + right * far, self.at.y() + down * far
        self.at = QPointF(min(max(x, 0.0), room.width() - 1.0), min(max(y, 0.0), room.height() - 1.0))
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
