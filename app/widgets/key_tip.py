"""A tooltip with the key of a command."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QToolButton, QWidget

from semblance.app.shell.actions import Actions
from semblance.app.widgets.panel_header import header_button


class KeyTip(QObject):
    """Keeps ``text`` with the key of ``command`` as the tooltip of ``widget``, also when the user changes the key."""

    def __init__(self, widget: QWidget, text: str, actions: Actions, command: str) -> None:
        super().__init__(widget)
        self._widget, self._text, self._actions, self._command = widget, text, actions, command
        actions[command].changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        self._widget.setToolTip(self._actions.text_with_key(self._text, self._command))


def key_button(icon: str, text: str, actions: Actions, command: str) -> QToolButton:
    """A button of a header with the key of ``command`` in its tooltip."""
    button = header_button(icon, text)
    KeyTip(button, text, actions, command)
    return button
