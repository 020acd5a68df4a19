"""The parts of the window that a library needs, and the connections between them."""

from __future__ import annotations

from operator import attrgetter

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QMainWindow, QStackedWidget

from semblance.app.search.feedback import mark_cards
from semblance.app.search.saved.save_search import SearchView
from semblance.app.shell import library_operations
from semblance.app.shell.context import Context
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.window.case_links import CaseLinks
from semblance.app.window.case_menu import show_case_menu
from semblance.app.window.commands import Commands
from semblance.app.window.dock_layout import DockLayout
from semblance.app.window.full_pages import FullPages
from semblance.app.window.panels import Panels
from semblance.app.window.top_bar import TopBar
from semblance.app.window.workspaces import WorkspaceChoice


class WindowParts(QObject):
    """The panels, docks, pages and commands of one window. Panels are built on first use."""

    def __init__(
        self,
        context: Context,
        window: QMainWindow,
        stack: QStackedWidget,
        top: TopBar,
        workspaces: WorkspaceChoice,
    ) -> None:
        super().__init__(window)
        self._context, self._window = context, window
        self.panels = Panels(context, stack, workspaces, self)
        self.layout = DockLayout(window, context, self.panels, workspaces)
        self.full = FullPages(window, context, stack, self.panels, self.layout)
        self.commands = Commands(
            context,
            window,
            self.panels,
            self.layout,
            self.full,
            top,
            workspaces,
            self.show_map,
            self.record_view,
        )
        workspaces.leaving.connect(self.full.leave_all)
        self.panels.help_requested.connect(self.commands.show_help)
        self.panels.case_menu_requested.connect(self.show_case_menu)
        self.panels.compare_requested.connect(self.full.compare)
        self.panels.compare_detached.connect(self.full.detach_compare)
        self.panels.page_closed.connect(self.full.leave_page)
        self.panels.full_size_requested.connect(self.full.view_query)
        self.panels.questions_requested.connect(self.full.ask_next)
        self.panels.header_requested.connect(self.commands.show_header)
        self.panels.side_requested.connect(self.layout.show_side)
        self.panels.collapse_requested.connect(self.layout.collapse_library)

    @lazy_part
    def case_links(self) -> CaseLinks:
        return CaseLinks(self._window, self.panels, self.layout)

    @lazy_part
    def search_view(self) -> SearchView:
        return SearchView(self._context, self.panels.query, self.panels.ranking, self)

    def show_map(self) -> None:
        """Show the map of the library."""
        self.case_links.show()

    def record_view(self) -> None:
        """Record how the search is shown now, where there is one."""
        view = WindowParts.search_view.built(self)
        if view is not None:
            view.autosave.capture_view()

    def show_case_menu(self, case_row: int, where: QPoint) -> None:
        """Show the menu of a case."""
        commands = self.commands
        fills = (commands.fill_marks, commands.concepts.fill_menu, commands.edits.fill_menu)
        show_case_menu(self._context, self.full, fills, self._window, case_row, where)

    def build(self, part: str) -> None:
        """Build one of :data:`semblance.app.window.startup.PARTS`, if it is not built already."""
        attrgetter(part)(self)

    def save_before_end(self) -> None:
        """Save the judgements and the view before the window is closed."""
        mark_cards.wait_for_judgements(self._context)
        library_operations.save_view_before_exit(self._context)
