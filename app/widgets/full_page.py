"""A page on the whole window with a button to go back."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton

from semblance.app.shell.icons import icon
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.panel_header import PanelHeader
from semblance.core.language import tr

RANKING = (tr("Similar cases"), tr("Back to the similar cases (Esc)"))


class FullPage(Panel):
    """``closed``: the user goes back. ``back``: text and tooltip of the button."""

    closed = Signal()

    def __init__(self, name: str, title: str = "", back: tuple[str, str] = RANKING) -> None:
        super().__init__(name)
        self.header = PanelHeader(title or name)
        self.back = QPushButton(back[0])
        self.back.setIcon(icon("chevron-left"))
        self.back.setToolTip(back[1])
        self.back.clicked.connect(self.closed)
        self.header.add_leading(self.back)

    def minimumSizeHint(self) -> QSize:
        """Zero, because the ranking under this page may be narrower."""
        return QSize(0, 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)
