"""One quiet line of warning beside what it is about."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.icon_label import IconLabel
from semblance.app.widgets.layouts import hbox


class WarningLine(QWidget):
    """``say(text, tip)``; gone while there is no text. ``role``: as for a label."""

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self._words = ElidedLabel(role=role)
        row = hbox(self, spacing=6)
        row.addWidget(IconLabel("warning", "text", 14))
        row.addWidget(self._words, 1)
        self.hide()

    @property
    def text(self) -> str:
        return self._words.text()

    def say(self, text: str, tip: str = "") -> None:
        """``tip``: the figures, and what follows from them."""
        self._words.setText(text)
        self._words.set_tip(tip)
        self.setAccessibleName(text)
        self.setAccessibleDescription(tip)
        self.setVisible(bool(text))
