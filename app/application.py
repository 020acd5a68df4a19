"""The Qt application: what the system asks of the program as a whole."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """macOS tells a program that runs what to open by an event; other systems start it with a path."""

    #: The path of what is to be opened.
    open_requested = Signal(str)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            self.open_requested.emit(event.file())
            return True
        return super().event(event)
