"""What the commands on kept searches do: ask for a name, show the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QInputDialog
from shiboken6 import isValid

from semblance.app.search.saved import saved_searches
from semblance.app.search.saved.searches_dialog import SearchesDialog
from semblance.app.viewer.query_source import QuerySource
from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow


class SearchCommands(QObject):
    """Of one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._context = window, window.context
        self.dialog: SearchesDialog | None = None

    def save(self) -> None:
        """Keep the present search under a name."""
        name = self._name(tr("Save the search"), self._usual_name())
        if name:
            self._window.search_view.keeper.look()
            saved_searches.save(self._context, name)

    def branch(self) -> None:
        """Go on with a copy of the present search."""
        before = self._context.state.search_name or self._usual_name()
        name = self._name(tr("Branch the search"), tr("{name}, branch", name=before))
        if name:
            self._window.search_view.keeper.look()
            saved_searches.branch(self._context, name)

    def show(self) -> None:
        """The list."""
        if self.dialog is None or not isValid(self.dialog):
            self.dialog = SearchesDialog(self._context, self._window.thumbnails, self._window)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.list.setFocus()

    def _name(self, title: str, usual: str) -> str:
        if self._context.state.query is None:
            return ""
        name, given = QInputDialog.getText(self._window, title, tr("Name"), text=usual)
        return name.strip() if given else ""

    def _usual_name(self) -> str:
        state = self._context.state
        query = state.query
        if query is None:
            return ""
        label = QuerySource(state.path, query.case, query.image).label(state.columns)
        return f"{label}, {state.metric.name}" if state.metric is not None else label
