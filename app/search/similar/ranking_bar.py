"""A bar above the similar cases that shows how they are ordered, with buttons to change it."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QPushButton

from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.icon_label import IconLabel
from semblance.app.widgets.layouts import hbox


class RankingBar(QFrame):
    """Follows the ranking, the search and the library. A subclass makes its row and shows it in :meth:`refresh`."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        set_look(self, message="foot")
        self._text = ElidedLabel()
        theme_signals.changed.connect(self._update_height)
        self._update_height()

    def follow_ranking(self) -> None:
        """Refresh now and with every change."""
        changes = Change.RANKING | Change.SEARCH | Change.LIBRARY | Change.SERVER
        self._state.on_change(changes, self, self.refresh)
        self.refresh()

    @property
    def text(self) -> str:
        """Its text; empty while it is hidden."""
        return "" if self.isHidden() else self._text.text()

    def refresh(self) -> None:
        """Show how the cases are ordered, or hide the bar."""
        raise NotImplementedError

    def _update_height(self) -> None:
        self.setFixedHeight(theme().px(30))


class ChangeBar(RankingBar):
    """A text beside an icon, with one button that changes how the cases are ordered."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.change = QPushButton()
        self.change.clicked.connect(self._change)
        set_look(self.change, quiet=True)
        row = hbox(self, spacing=8, margins=(12, 0, 8, 0))
        row.addWidget(IconLabel("info"))
        row.addWidget(self._text, 1)
        row.addWidget(self.change)
        self.follow_ranking()

    def _change(self) -> None:
        """The button was pressed."""
        raise NotImplementedError
