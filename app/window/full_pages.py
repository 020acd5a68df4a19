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
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.settings import Settings
from semblance.app.widgets.dialog import bring_to_front
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import FullPage
from semblance.app.widgets.tab_order import tab_stops
from semblance.app.window.panels import Panels
from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.viewer.image_pane import ImagePane
    from semblance.app.window.docks import DockLayout


_GEOMETRY = "compare_geometry"
_SIZE = (1200, 800)

_DETACHED = "compare_detached"


class CompareWindow(QWidget):
    """Holds the page. The commands of ``window`` have their keys here too. ``closed``: the user closed it."""

    closed = Signal()

    def __init__(self, window: QMainWindow, settings: Settings) -> None:
        super().__init__(window, Qt.WindowType.Window)
        self._settings = settings
        self.setWindowTitle(f"{tr('Compare')} – Semblance")
        self._column = vbox(self)
        for action in window.actions():
            self.addAction(action)
        geometry = settings.bytes(_GEOMETRY)
        if geometry is None or not self.restoreGeometry(geometry):
            self.resize(*_SIZE)

    def show_page(self, page: QWidget) -> None:
        """Show ``page`` and bring the window to the front."""
        if self._column.indexOf(page) < 0:
            self._column.addWidget(page)
        page.show()
        bring_to_front(self)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._settings.set_bytes(_GEOMETRY, self.saveGeometry())
        super().closeEvent(event)
        self.closed.emit()


class FullPages:
    """The pages Compare, two metrics, data check, ask me next, and full size of one window."""

    def __init__(
        self, window: QMainWindow, context: Context, stack: QStackedWidget, panels: Panels, layout: DockLayout
    ) -> None:
        self._window, self._context, self._stack = window, context, stack
        self._panels, self._layout = panels, layout
        self._sizes: dict[str, QSize] = {}
        #: Further pages, by the names of their help pages.
        self._further: dict[str, FullPage] = {}
        #: The page from which an image was opened, and what was shown before the first page.
        self._return_to: QWidget | None = None
        self._before: QWidget | None = None
        self._focus_before: QWidget | None = None
        self._is_detached = context.settings.flag(_DETACHED, default=False)

    @property
    def open(self) -> bool:
        """Whether one of them is shown."""
        return self._stack.currentWidget() in self.pages().values()

    @lazy_part
    def compare_window(self) -> CompareWindow:
        made = CompareWindow(self._window, self._context.settings)
        self._panels.ranking.grid.current_changed.connect(self._follow)
        self._panels.compare.case_changed.connect(self._select_detached)
        made.closed.connect(self._share_memory_of_shown)
        return made

    @property
    def _shown_window(self) -> CompareWindow | None:
        """The window with the Compare page, while it is shown."""
        made = FullPages.compare_window.built(self)
        return made if made is not None and made.isVisible() else None

    def _follow(self, case_row: int) -> None:
        """The window of its own shows the current case of the ranking."""
        if self._shown_window is not None and case_row >= 0:
            self._panels.compare.follow(case_row)

    def _select_detached(self) -> None:
        """The case in the window of its own becomes the current case of the ranking."""
        if self._shown_window is not None:
            self._select_compared()

    def _select_compared(self) -> None:
        """Make the compared case the current case of the ranking."""
        if (case_row := self._panels.compare.current_row()) >= 0:
            self._panels.ranking.grid.set_current(case_row)

    def detach_compare(self, detached: bool) -> None:
        """Compare in a window of its own from now on, or in the main window."""
        self._is_detached = detached
        self._context.settings.set_flag(_DETACHED, detached)
        page = self._panels.compare
        case_row = page.current_row()
        if detached:
            self.leave_page("compare")
        else:
            self.close_compare_window()
            self._stack.addWidget(page)
        if case_row >= 0:
            self.compare(case_row)

    def close_compare_window(self) -> None:
        """Close the window of the Compare page, if it is shown."""
        if self._shown_window is not None:
            self._shown_window.close()

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
            self._stack.addWidget(page)
            page.closed.connect(partial(self.leave_page, name))
            page.header.help_requested.connect(partial(self._panels.help_requested.emit, name))
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
        detached = self._shown_window
        return self._is_shown("compare") or (detached is not None and detached.isActiveWindow())

    @property
    def is_full_size(self) -> bool:
        """Whether one image fills the window."""
        return self._is_shown("large")

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
            page.detach.setChecked(self._is_detached)
            if self._is_detached:
                self._stack.removeWidget(page)
                self.compare_window.show_page(page)
                self._share_memory_of_shown()
            else:
                self._enter(page)
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
        elif name == "compare":
            self.close_compare_window()

    def leave(self) -> None:
        """Go back to the ranking, or to the page on which the image was opened."""
        if not self.open:
            return
        self._leave_large()
        if self._is_shown("compare"):
            self._select_compared()
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
        self._enter(large)
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
            # Docks behind another tab have no size of their own.
            self._sizes = {
                name: dock.size()
                for name, dock in self._layout.docks.items()
                if not dock.visibleRegion().isEmpty()
            }
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
        panels, detached = self._panels, self._shown_window is not None
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
        docks = [self._layout.docks[name] for name in self._sizes]
        sizes = list(self._sizes.values())
        for dock in docks:
            dock.raise_()
        self._window.resizeDocks(docks, [size.width() for size in sizes], Qt.Orientation.Horizontal)
        self._window.resizeDocks(docks, [size.height() for size in sizes], Qt.Orientation.Vertical)
