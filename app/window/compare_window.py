"""The Compare page in a window of its own, as for a second monitor."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QWidget

from semblance.app.shell.settings import Settings
from semblance.app.widgets.dialog import bring_to_front
from semblance.app.widgets.layouts import vbox
from semblance.core.language import tr

_GEOMETRY = "compare_geometry"
_SIZE = (1200, 800)


class CompareWindow(QWidget):
    """Holds the page. The commands of ``window`` have their keys here too. ``closed``: the user closed it."""

    closed = Signal()

    def __init__(self, window: QMainWindow, settings: Settings) -> None:
        super().__init__(window, Qt.WindowType.Window)
        self._settings = settings
        self.setWindowTitle(f"{tr('Compare')} – Semblance")
        self._column = vbox(self)
        for action in window.actions():
            self.addAction(action)
        geometry = settings.bytes(_GEOMETRY)
        if geometry is None or not self.restoreGeometry(geometry):
            self.resize(*_SIZE)

    def show_page(self, page: QWidget) -> None:
        """Show ``page`` and bring the window to the front."""
        if self._column.indexOf(page) < 0:
            self._column.addWidget(page)
        page.show()
        bring_to_front(self)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._settings.set_bytes(_GEOMETRY, self.saveGeometry())
        super().closeEvent(event)
        self.closed.emit()
