"""The Why panel: what made the distance from the query to a ranked case."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.context import Context
from app.models.thumbnails import ThumbnailSource
from app.theme import set_look
from app.widgets.empty_state import EmptyState


class WhyPanel(QWidget):
    """Follows the search and its ranking."""

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context, self._state, self._thumbnails = context, context.state, thumbnails
        set_look(self, role="panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._empty = EmptyState()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._empty)
        self._empty.say("Ask with a case", "What made the distances is shown here.")
