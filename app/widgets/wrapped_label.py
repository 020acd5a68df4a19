"""A label with wrapped text."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from semblance.app.shell.theme import set_look
from semblance.core.language import translate


class WrappedLabel(QLabel):
    """Plain text, never interpreted as HTML, translated if it comes from ``core``.

    ``role``: a role of the style sheet. ``selectable``: the text can be selected and copied.
    """

    def __init__(self, text: str = "", role: str = "", *, selectable: bool = False) -> None:
        super().__init__(translate(text))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        if role:
            set_look(self, role=role)
        if selectable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            self.setCursor(Qt.CursorShape.IBeamCursor)

    def setText(self, text: str) -> None:
        super().setText(translate(text))
