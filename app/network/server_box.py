"""The choice of a saved PACS server."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.settings import Settings
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.core.language import tr
from semblance.core.network.servers import Server, read_servers

_SERVER = "pacs_server"


class ServerBox(NoWheelComboBox):
    """Lists the saved servers, first the one that was used last. ``chosen``: another one may be chosen now."""

    chosen = Signal()

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._servers: list[Server] = []
        self.setAccessibleName(tr("PACS server"))
        self.currentIndexChanged.connect(lambda _: self._choose())

    def load(self, choose: str = "") -> None:
        """Read the servers, and choose the one named ``choose`` or used last.

        Raises:
            SemblanceError: their file cannot be read; then there are none.
        """
        self._servers = []
        try:
            self._servers = read_servers()
        finally:
            names = [server.name for server in self._servers]
            choose = choose or self._settings.text(_SERVER)
            self.blockSignals(True)
            self.clear()
            for server in self._servers:
                self.addItem(f"{server.name}  ({server.address})", server.name)
            if choose in names:
                self.setCurrentIndex(names.index(choose))
            self.blockSignals(False)
            self._choose()

    def server(self) -> Server | None:
        """The chosen server."""
        place = self.currentIndex()
        return self._servers[place] if 0 <= place < len(self._servers) else None

    def _choose(self) -> None:
        server = self.server()
        if server is not None:
            self._settings.set_text(_SERVER, server.name)
        self.chosen.emit()
