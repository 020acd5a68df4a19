"""A warning in one line."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.icon_label import IconLabel
from semblance.app.widgets.layouts import hbox


class WarningLine(QWidget):
    """Hidden while there is no text. ``role``: as for a label."""

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self._label = ElidedLabel(role=role)
        row = hbox(self, spacing=6)
        row.addWidget(IconLabel("warning", "text", 14))
        row.addWidget(self._label, 1)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def show_message(self, text: str, tip: str = "") -> None:
        """Show ``text`` with the tooltip ``tip``; hide the line if it is empty."""
        self._label.setText(text)
        self._label.set_tip(tip)
        self.setAccessibleName(text)
        self.setAccessibleDescription(tip)
        self.setVisible(bool(text))
