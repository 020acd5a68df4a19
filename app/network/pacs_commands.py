"""The command that opens the dialog of PACS servers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context

if TYPE_CHECKING:
    from semblance.app.network.pacs_dialog import PacsDialog


class PacsCommands(QObject):
    """``retrieved(library)``: cases were added to it · ``help_requested(page)``."""

    retrieved = Signal(object)
    help_requested = Signal(str)

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self._context, self._parent = context, parent
        self.commands: dict[str, Callable[[], object]] = {"pacs": self.show_pacs}

    def show_pacs(self) -> PacsDialog:
        """Open the dialog or bring it to the front. Closing hides it while a retrieval runs on."""
        from semblance.app.network.pacs_dialog import PacsDialog

        dialog = self._parent.findChild(PacsDialog)
        if dialog is None:
            dialog = PacsDialog(self._context, self._parent)
            dialog.retrieved.connect(self.retrieved)
            dialog.help_requested.connect(partial(self.help_requested.emit, "pacs"))
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        return dialog
