"""The lists beside the images, in tabs: file header, saved searches, findings, metrics, edits, files and exports."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import TabHeader
from semblance.app.widgets.tab_order import tab_stops
from semblance.core.language import tr

#: Name of a list -> the text of its tab, and its help page.
LISTS = {
    "header": (tr("File header"), "full_size"),
    "searches": (tr("Searches"), "searches"),
    "collections": (tr("Collections"), "collections"),
    "findings": (tr("Findings"), "edits"),
    "metrics": (tr("Metrics"), "edits"),
    "history": (tr("Edit history"), "edits"),
    "unreadable": (tr("Could not read"), "import_images"),
    "exports": (tr("Export log"), "privacy"),
    "check": (tr("Verify"), "maintenance"),
}
_NAMES = tuple(LISTS)


class ListsPanel(QWidget):
    """Shows the tabs of the lists that are open. ``help_requested(page)`` · ``emptied``: the last list was closed.

    They are of one library: with another one all are closed.
    """

    help_requested = Signal(str)
    emptied = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._state = context.state
        self._library = context.state.location
        self._lists: dict[str, QWidget] = {}
        #: The names of the open lists.
        self.shown: list[str] = []
        self.header = TabHeader([title for title, _page in LISTS.values()])
        self.header.set_shown(())
        self.header.changed.connect(self._show)
        self.header.help_requested.connect(lambda: self.help_requested.emit(self.help_page))
        close = self.header.add_button("close", tr("Close this list (Esc)"))
        close.clicked.connect(self.close_current)
        self._pages = QStackedWidget()
        vbox(self).addWidget(self._pages)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        context.state.on_change(Change.LIBRARY, self, self._follow_library)

    @property
    def help_page(self) -> str:
        """The help page of the list that is shown."""
        return LISTS[_NAMES[self.header.tabs.currentIndex()]][1]

    def show_list(self, name: str, widget: QWidget) -> None:
        """Bring the list ``name`` to the front. Another ``widget`` than before takes its place."""
        before = self._lists.get(name)
        if before is not widget:
            if before is not None:
                self._pages.removeWidget(before)
                before.deleteLater()
            self._lists[name] = widget
            # Hidden lists must not influence the size.
            widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
            self._pages.addWidget(widget)
            widget.destroyed.connect(partial(self._forget, name, widget))
        if name not in self.shown:
            self.shown.append(name)
        self._update_tabs(name)

    def focus_current(self) -> None:
        """Focus what the list that is shown has for the keyboard, or begins with."""
        if (page := self._pages.currentWidget()) is not None:
            proxy = page.focusProxy()
            first = proxy if proxy is not None and proxy.isVisible() else (tab_stops(page) or [page])[0]
            first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_current(self) -> None:
        """Close the list that is shown."""
        name = _NAMES[self.header.tabs.currentIndex()]
        if name in self.shown:
            self.shown.remove(name)
        if self.shown:
            self._update_tabs(self.shown[-1])
        else:
            self._close_all()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_current()
        else:
            super().keyPressEvent(event)

    def _follow_library(self) -> None:
        before, self._library = self._library, self._state.location
        if before != self._library:
            self._close_all()

    def _close_all(self) -> None:
        self.shown = []
        self.header.set_shown(())
        self.emptied.emit()

    def _update_tabs(self, current: str) -> None:
        self.header.set_shown([_NAMES.index(one) for one in self.shown])
        self.header.tabs.setCurrentIndex(_NAMES.index(current))
        self._show(_NAMES.index(current))

    def _show(self, index: int) -> None:
        if (page := self._lists.get(_NAMES[index])) is not None:
            self._pages.setCurrentWidget(page)

    def _forget(self, name: str, widget: QWidget) -> None:
        if self._lists.get(name) is widget:
            del self._lists[name]
