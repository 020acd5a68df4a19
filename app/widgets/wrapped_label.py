"""Text that breaks over lines."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from semblance.app.shell.theme import set_look
from semblance.core.language import translate


class WrappedLabel(QLabel):
    """Never taken for HTML, whatever a file or a finding is called; what ``core`` says is said in the user's
    language.

    ``role`` is a look of ``semblance.app.qss``; ``selectable``: can be marked and copied.
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
