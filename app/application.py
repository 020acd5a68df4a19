"""The Qt application, with requests of the system to open a library."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """On macOS a running program gets an event with the path to open. Other systems start it with a path."""

    #: The path to open.
    open_requested = Signal(str)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            self.open_requested.emit(event.file())
            return True
        return super().event(event)
