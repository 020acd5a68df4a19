"""The signal that something is dragged over a window, for what it can be dropped on."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal


class DragSignals(QObject):
    """``changed(on)``: a case or a file is dragged over a window of the program, or no longer."""

    changed = Signal(bool)


drag_signals = DragSignals()
