"""A thin separating line."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame

from semblance.app.shell.theme import set_look


class HLine(QFrame):
    """A horizontal line, or a ``vertical`` one."""

    def __init__(self, *, vertical: bool = False) -> None:
        super().__init__()
        set_look(self, role="rule-upright" if vertical else "rule")
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)
