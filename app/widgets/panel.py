"""A part of the window with a ground of its own."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from semblance.app.shell.theme import set_look


class Panel(QWidget):
    """``name`` is what a screen reader calls it."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.setAccessibleName(name)
        set_look(self, role="panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
