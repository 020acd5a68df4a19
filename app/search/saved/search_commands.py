"""The commands of saved searches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QMimeData, QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QInputDialog, QWidget
from shiboken6 import isValid

from semblance.app.search.saved import saved_searches
from semblance.app.search.saved.searches_dialog import SearchesDialog
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.query_source import QuerySource
from semblance.app.widgets.drop_target import dropped_file
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.searches.query import Query


class SearchCommands(QObject):
    """Opens dialogs of ``parent``. ``record_view`` puts the view of the search into the state."""

    def __init__(
        self,
        context: Context,
        parent: QWidget,
        thumbnails: ThumbnailSource,
        record_view: Callable[[], object],
    ) -> None:
        super().__init__(parent)
        self._context, self._parent, self._thumbnails = context, parent, thumbnails
        self._record_view = record_view
        self.dialog: SearchesDialog | None = None
        self.commands: dict[str, Callable[[], object]] = {
            "save_search": self.save,
            "branch_search": self.branch,
            "searches": self.show,
            "rank_again": partial(search_operations.rank, context),
            "ask_file": self.search_with_file,
            "paste_image": self.search_with_clipboard,
        }

    def search_with_file(self) -> None:
        """Let the user select an image file to search with."""
        title = tr("Search with an image")
        if chosen := choose_file(self._parent, title, search_operations.FILE_FILTER):
            search_operations.submit_query(self._context, Query(image=chosen))

    def search_with_clipboard(self) -> None:
        """Search with the image, or the one image file, that was copied in another program."""
        clipboard = QGuiApplication.clipboard()
        # A clipboard nothing was copied to has no data, whatever Qt's types say.
        data = clipboard.mimeData() or QMimeData()
        path = dropped_file(data)
        if path is not None:
            search_operations.submit_query(self._context, Query(image=path))
        elif data.hasImage():
            search_operations.submit_pasted_image(self._context, clipboard.image())
        else:
            self._context.messages.info(tr("There is no image on the clipboard."))

    def save(self) -> None:
        """Save the current search under a name."""
        name = self._name(tr("Save the search"), self._default_name())
        if name:
            self._record_view()
            saved_searches.save(self._context, name)

    def branch(self) -> None:
        """Continue with a copy of the current search."""
        before = self._context.state.search_name or self._default_name()
        name = self._name(tr("Branch the search"), tr("{name}, branch", name=before))
        if name:
            self._record_view()
            saved_searches.branch(self._context, name)

    def show(self) -> None:
        """Show the saved searches."""
        if self.dialog is None or not isValid(self.dialog):
            self.dialog = SearchesDialog(self._context, self._thumbnails, self._parent)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.list.setFocus()

    def _name(self, title: str, default: str) -> str:
        if self._context.state.query is None:
            return ""
        name, accepted = QInputDialog.getText(self._parent, title, tr("Name"), text=default)
        return name.strip() if accepted else ""

    def _default_name(self) -> str:
        state = self._context.state
        query = state.query
        if query is None:
            return ""
        label = QuerySource(state.path, query.case, query.image).label(state.columns)
        return f"{label}, {state.metric.name}" if state.metric is not None else label
