"""A search or filter field with an icon and a button that clears it, like Esc."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.icons import icon
from semblance.core.language import tr

PAUSE_MS = 60


class SearchField(QLineEdit):
    """``searched(text)``: the text changed, after a short pause. ``list_requested``: Down was pressed."""

    searched = Signal(str)
    down_pressed = Signal()

    def __init__(
        self, hint: str = tr("Filter cases"), parent: QWidget | None = None, *, icon_name: str = "filter"
    ) -> None:
        super().__init__(parent)
        self.setPlaceholderText(hint)
        # Qt leaves too much space behind the icon.
        self.setTextMargins(-5, 0, 0, 0)
        self.setAccessibleName(hint)
        self.addAction(icon(icon_name), QLineEdit.ActionPosition.LeadingPosition).setText(hint)
        self._clear = self.addAction(icon("close"), QLineEdit.ActionPosition.TrailingPosition)
        self._clear.setText(tr("Clear"))
        self._clear.setToolTip(tr("Clear"))
        self._clear.setVisible(False)
        self._clear.triggered.connect(self.clear)
        self._pause = one_shot(self, lambda: self.searched.emit(self.text()), PAUSE_MS)
        self.textChanged.connect(self._changed)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
        else:
            super().keyPressEvent(event)

    def _changed(self, text: str) -> None:
        self._clear.setVisible(bool(text))
        self._pause.start()
