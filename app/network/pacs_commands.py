"""The commands that open the dialogs of PACS servers, of sending, and of watching for new images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell.context import Context
from semblance.app.widgets.dialog import bring_to_front
from semblance.core.library.case_columns import Rows

if TYPE_CHECKING:
    from semblance.app.network.pacs_dialog import PacsDialog
    from semblance.app.network.send_dialog import SendDialog
    from semblance.app.network.watch_dialog import WatchDialog


class PacsCommands(QObject):
    """``retrieved(library)``: cases were added to it · ``help_requested(page)``.

    ``selected_cases`` returns the catalogue rows of the selected cases in the focused panel. Closing a dialog hides it
    while its work runs on.
    """

    retrieved = Signal(object)
    help_requested = Signal(str)

    def __init__(self, context: Context, parent: QWidget, selected_cases: Callable[[], Rows]) -> None:
        super().__init__(parent)
        self._context, self._parent, self._selected_cases = context, parent, selected_cases
        self.commands: dict[str, Callable[[], object]] = {
            "pacs": self.show_pacs,
            "send_to_pacs": self.show_send,
            "watch": self.show_watch,
        }

    def show_pacs(self) -> PacsDialog:
        """Open the dialog of servers and studies or bring it to the front."""
        from semblance.app.network.pacs_dialog import PacsDialog

        dialog = self._parent.findChild(PacsDialog)
        if dialog is None:
            dialog = PacsDialog(self._context, self._parent)
            dialog.retrieved.connect(self.retrieved)
            dialog.help_requested.connect(partial(self.help_requested.emit, "pacs"))
        bring_to_front(dialog)
        return dialog

    def show_send(self) -> SendDialog:
        """Open the dialog that sends, with what can be sent now."""
        from semblance.app.network.send_dialog import SendDialog

        dialog = self._parent.findChild(SendDialog)
        if dialog is None:
            dialog = SendDialog(self._context, self._selected_cases, self._parent)
            dialog.help_requested.connect(partial(self.help_requested.emit, "pacs"))
            dialog.servers_requested.connect(partial(self._choose_servers, dialog))
        if not dialog.is_running:
            dialog.load()
        bring_to_front(dialog)
        return dialog

    def _choose_servers(self, dialog: SendDialog) -> None:
        """Servers are added and tested in their own dialog. It closed, the new ones are offered."""
        servers = self.show_pacs()
        servers.finished.connect(dialog.load_servers)

    def show_watch(self) -> WatchDialog:
        """Open the dialog of watching, or bring it to the front."""
        from semblance.app.network.watch_dialog import WatchDialog

        dialog = self._parent.findChild(WatchDialog)
        if dialog is None:
            dialog = WatchDialog(self._context, self._parent)
            dialog.taken.connect(self.retrieved)
            dialog.help_requested.connect(partial(self.help_requested.emit, "pacs"))
        bring_to_front(dialog)
        return dialog
