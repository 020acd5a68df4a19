"""A thin line between two parts."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame

from semblance.app.shell.theme import set_look


class HLine(QFrame):
    """Lies between what stands above each other; ``upright``: between what stands side by side."""

    def __init__(self, *, upright: bool = False) -> None:
        super().__init__()
        set_look(self, role="rule-upright" if upright else "rule")
        if upright:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)
