"""Pages that fill the whole window for a while, or a window of their own, and the return to the former layout."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget
from shiboken6 import isValid

from semblance.app.shell.context import Context
from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.settings import Settings
from semblance.app.widgets.dialog import bring_to_front
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import FullPage
from semblance.app.widgets.tab_order import tab_stops
from semblance.app.window.panels import Panels
from semblance.app.window.window_places import restore_place, save_place
from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.viewer.image_pane import ImagePane
    from semblance.app.window.docks import Dock, DockLayout


_SIZE = (1200, 800)
#: The pages that can have a window of their own.
_DETACHABLE = ("compare", "large")


class PageWindow(QWidget):
    """Holds the page ``name``. The commands of ``window`` have their keys here too.

    ``hidden``: the page was left. ``brought_back``: the user closed the window, so that the page goes back to the main
    window.
    """

    hidden = Signal()
    brought_back = Signal()

    def __init__(self, window: QMainWindow, settings: Settings, name: str, title: str) -> None:
        super().__init__(window, Qt.WindowType.Window)
        self._settings, self._key = settings, f"{name}_geometry"
        self._is_leaving = False
        self.setWindowTitle(f"{title} – Semblance")
        self._column = vbox(self)
        for action in window.actions():
            self.addAction(action)
        if not restore_place(settings, self._key, self):
            self.resize(*_SIZE)

    def show_page(self, page: QWidget) -> None:
        """Show ``page`` and bring the window to the front."""
        if self._column.indexOf(page) < 0:
            self._column.addWidget(page)
        page.show()
        bring_to_front(self)

    def leave(self) -> None:
        """Close the window because its page was left."""
        self._is_leaving = True
        self.close()
        self._is_leaving = False

    def closeEvent(self, event: QCloseEvent) -> None:
        save_place(self._settings, self._key, self)
        super().closeEvent(event)
        if self._is_leaving:
            self.hidden.emit()
        else:
            self.brought_back.emit()


class FullPages:
    """The pages Compare, two metrics, data check, ask me next, and full size of one window."""

    def __init__(
        self, window: QMainWindow, context: Context, stack: QStackedWidget, panels: Panels, layout: DockLayout
    ) -> None:
        self._window, self._context, self._stack = window, context, stack
        self._panels, self._layout = panels, layout
        self._sizes: dict[Dock, QSize] = {}
        #: Further pages, by the names of their help pages.
        self._further: dict[str, FullPage] = {}
        #: The page from which an image was opened, and what was shown before the first page.
        self._return_to: QWidget | None = None
        self._before: QWidget | None = None
        self._focus_before: QWidget | None = None
        self._windows: dict[str, PageWindow] = {}
        self._detached = {
            name for name in _DETACHABLE if context.settings.flag(f"{name}_detached", default=False)
        }

    @property
    def open(self) -> bool:
        """Whether one of them is shown."""
        return self._stack.currentWidget() in self.pages().values()

    def page_window(self, name: str) -> PageWindow:
        """The window of its own of the page ``name``, made on first use."""
        if name not in self._windows:
            title = tr("Compare") if name == "compare" else tr("Full-size image")
            made = PageWindow(self._window, self._context.settings, name, title)
            if name == "compare":
                self._panels.ranking.grid.current_changed.connect(self._follow)
                self._panels.compare.case_changed.connect(self._select_detached)
            else:
                made.hidden.connect(self._panels.large.leave)
            made.hidden.connect(self._share_memory_of_shown)
            made.brought_back.connect(partial(self.detach, name, False))
            self._windows[name] = made
        return self._windows[name]

    def _shown_window(self, name: str) -> PageWindow | None:
        """The window with the page ``name``, while it is shown."""
        made = self._windows.get(name)
        return made if made is not None and made.isVisible() else None

    def _is_used(self, name: str) -> bool:
        """Whether the page ``name`` fills the main window, or is in the window of its own that is in use."""
        own = self._shown_window(name)
        return self._is_shown(name) or (own is not None and own.isActiveWindow())

    def _follow(self, case_row: int) -> None:
        """The window of its own shows the current case of the ranking."""
        if self._shown_window("compare") is not None and case_row >= 0:
            self._panels.compare.follow(case_row)

    def _select_detached(self) -> None:
        """The case in the window of its own becomes the current case of the ranking."""
        if self._shown_window("compare") is not None:
            self._select_compared()

    def _select_compared(self) -> None:
        """Make the compared case the current case of the ranking."""
        if (case_row := self._panels.compare.current_row()) >= 0:
            self._panels.ranking.grid.set_current(case_row)

    def detach(self, name: str, detached: bool) -> None:
        """Show the page ``name`` in a window of its own from now on, or in the main window."""
        self._detached = self._detached | {name} if detached else self._detached - {name}
        self._context.settings.set_flag(f"{name}_detached", detached)
        page, large = self.pages()[name], Panels.large.built(self._panels)
        source = large.source if large is not None else None
        if detached:
            self.leave_page(name)
        else:
            self.close_window(name)
            self._stack.addWidget(page)
        if name == "compare" and (case_row := self._panels.compare.current_row()) >= 0:
            self.compare(case_row)
        elif name == "large" and source is not None:
            self._view(source)

    def close_window(self, name: str) -> None:
        """Close the window of its own of the page ``name``, if it is shown."""
        if (own := self._shown_window(name)) is not None:
            own.leave()

    def close_windows(self) -> None:
        """Close the windows of all pages."""
        for name in self._windows:
            self.close_window(name)

    def _show_page(self, name: str, page: FullPage) -> None:
        """Show the page in the main window, or in its own."""
        page.detach.setChecked(name in self._detached)
        if name in self._detached:
            self._stack.removeWidget(page)
            self.page_window(name).show_page(page)
            self._share_memory_of_shown()
        else:
            self._enter(page)

    def pages(self) -> dict[str, QWidget]:
        """The pages that are built, by name."""
        panels = self._panels
        built: dict[str, QWidget | None] = {
            "compare": Panels.compare.built(panels),
            "large": Panels.large.built(panels),
            "hanging": Panels.hanging.built(panels),
            "two_metrics": Panels.two_metrics.built(panels),
            "data_check": Panels.data_check.built(panels),
            "ask_next": Panels.ask_next.built(panels),
            **self._further,
        }
        return {name: page for name, page in built.items() if page is not None}

    def show_page(self, name: str, page: FullPage) -> None:
        """Show a page that another part of the program made. ``name``: of its help page."""
        before = self._further.get(name)
        if before is not page:
            if before is not None:
                self._stack.removeWidget(before)
                before.deleteLater()
            self._further[name] = page
            self._panels.add_page(page, name)
        self._enter(page)
        stops = [one for one in tab_stops(page) if not page.header.isAncestorOf(one)]
        (stops[0] if stops else page).setFocus(Qt.FocusReason.OtherFocusReason)

    def two_metrics(self) -> None:
        """Show the query under two metrics."""
        if self._context.state.library is not None:
            self._enter(self._panels.two_metrics)
            self._panels.two_metrics.columns.setFocus(Qt.FocusReason.OtherFocusReason)

    def data_check(self) -> None:
        """Show the doubtful cases of the library."""
        if self._context.state.library is not None:
            self._enter(self._panels.data_check)
            self._panels.data_check.focus_list()

    @property
    def shows_questions(self) -> bool:
        """Whether the page of questions is shown."""
        return self._is_shown("ask_next")

    @property
    def comparing(self) -> bool:
        """Whether the user is comparing a ranked case with the query."""
        return self._is_used("compare")

    @property
    def is_full_size(self) -> bool:
        """Whether one image fills the window."""
        return self._is_used("large")

    def _is_shown(self, name: str) -> bool:
        return self._stack.currentWidget() is self.pages().get(name)

    def ask_next(self) -> None:
        """Show questions in full size, one after another."""
        if self._context.state.ranking is not None:
            self._enter(self._panels.ask_next)
            self._panels.ask_next.setFocus(Qt.FocusReason.OtherFocusReason)

    def undo_judgement(self) -> None:
        """Undo the last judgement. On the page with questions, show its question again."""
        if self.shows_questions and self._panels.ask_next.session.can_undo:
            self._panels.ask_next.session.undo()
        else:
            from semblance.app.search.feedback.mark_cards import undo

            undo(self._context)

    def compare(self, case_row: int) -> None:
        """Compare the query with a ranked case."""
        ranking = self._context.state.ranking
        if ranking is None or self._context.state.columns.index_of_row(case_row) < 0:
            return
        if any(case.row == case_row for case in ranking.ranked):
            page = self._panels.compare
            self._show_page("compare", page)
            page.compare(case_row)
        else:
            # A case that only another metric ranks is not among the cases to compare.
            self.view_case(case_row)

    def view_case(self, case_row: int) -> None:
        """View a case of the library in full size."""
        state = self._context.state
        index = state.columns.index_of_row(case_row)
        if index >= 0:
            self._view(QuerySource(state.location, state.columns.ids[index], None))

    def hang(self, case_row: int) -> None:
        """Show the images of a case's patient side by side."""
        if self._context.state.columns.index_of_row(case_row) >= 0:
            self._enter(self._panels.hanging)
            self._panels.hanging.show_patient(case_row)

    def view_query(self) -> None:
        """View the query's image in full size."""
        state = self._context.state
        if state.query is not None:
            self._view(QuerySource.of(state.location, state.query))

    def leave_page(self, name: str) -> None:
        """:meth:`leave` if the page ``name`` is shown."""
        if self._is_shown(name):
            self.leave()
        else:
            self.close_window(name)

    def leave(self) -> None:
        """Go back to the ranking, or to the page on which the image was opened."""
        if not self.open:
            return
        self._leave_large()
        if self._is_shown("compare") and (case_row := self._panels.compare.row_after_leaving()) >= 0:
            self._panels.ranking.grid.set_current(case_row)
        back, self._return_to = self._return_to, None
        has_library = self._context.state.library is not None
        if back is not None and has_library:
            self._show(back)
            back.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        shown = self._panels.ranking if has_library or self._before is None else self._before
        self._share_memory(shown)
        self._stack.setCurrentWidget(shown)
        for dock in self._layout.docks.values():
            dock.setVisible(self._context.state.library is not None and dock.is_open)
        # Docks can be sized only once they are shown.
        QTimer.singleShot(0, self._window, self._restore_sizes)
        target = self._focus_before
        if target is None or not isValid(target) or not target.isVisible() or not target.isEnabled():
            target = self._panels.ranking.grid if has_library else shown
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def leave_all(self) -> None:
        """Go back to the ranking from all pages; the docks get new places."""
        while self.open:
            self.leave()
        self._sizes = {}

    def _view(self, source: QuerySource) -> None:
        large = self._panels.large
        self._show_page("large", large)
        if large.source != source:
            large.show_source(source)

    def _enter(self, page: QWidget) -> None:
        panels, current = self._panels, self._stack.currentWidget()
        of_images = (Panels.compare.built(panels), Panels.large.built(panels), Panels.hanging.built(panels))
        if page not in of_images:
            self._return_to = None
        elif self.open and current not in of_images:
            self._return_to = current
        if not self.open:
            self._layout.save()
            self._return_to = None
            self._focus_before, self._before = self._window.focusWidget(), current
            self._sizes = self._layout.shown_sizes()
        elif page is not self.pages().get("large"):
            self._leave_large()
        self._layout.hide_docks()
        self._show(page)

    def _show(self, page: QWidget) -> None:
        self._share_memory(page)
        self._stack.setCurrentWidget(page)

    def _share_memory_of_shown(self) -> None:
        self._share_memory(self._stack.currentWidget() or self._panels.ranking)

    def _share_memory(self, page: QWidget) -> None:
        """Keep slices in memory only for the panes on ``page``, and in the window of the Compare page."""
        panels, detached = self._panels, self._shown_window("compare") is not None
        shown: list[tuple[QWidget, Sequence[ImagePane]]] = [(self._panels.ranking, [self._panels.query.pane])]
        built = (Panels.compare.built(panels), Panels.ask_next.built(panels), Panels.hanging.built(panels))
        shown += [(owner, owner.panes) for owner in built if owner is not None]
        for owner, panes in shown:
            for pane in panes:
                is_shown = page is owner or (detached and owner is built[0])
                pane.slices.resume_loading() if is_shown else pane.slices.release_memory()

    def _leave_large(self) -> None:
        for page in (Panels.large.built(self._panels), Panels.hanging.built(self._panels)):
            if page is not None:
                page.leave()

    def _restore_sizes(self) -> None:
        for dock in self._sizes:
            dock.raise_()
        self._layout.resize_docks(self._sizes)
