"""A part of the window with its own background."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from semblance.app.shell.theme import set_look


class Panel(QWidget):
    """``name``: the accessible name."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.setAccessibleName(name)
        set_look(self, role="panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
