"""The parts of the window that a library needs, and the connections between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QMainWindow, QMenu, QStackedWidget

from semblance.app.search.feedback import mark_cards
from semblance.app.search.saved.save_search import SearchView
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.case_menu import add_header_entry
from semblance.app.shell.context import Context
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.shell.state import WindowState
from semblance.app.shell.theme import theme
from semblance.app.widgets.cards.card_layout import NO_PLACE
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.menus import case_menu, open_menu_of_focus
from semblance.app.window.commands import Commands
from semblance.app.window.docks import DockLayout
from semblance.app.window.full_pages import FullPages
from semblance.app.window.panels import Panels
from semblance.app.window.top_bar import TopBar
from semblance.app.window.workspaces import WorkspaceChoice
from semblance.core.language import tr
from semblance.core.searches.query import Query

if TYPE_CHECKING:
    from semblance.app.evaluation.map_page import MapPage


#: Preferred height of the map in px at text scale 1. A lower dock grows to it.
MAP_HEIGHT = 400
#: Tolerance in px for a dock that was not resized by the user.
_TOLERANCE = 4


class CaseLinks(QObject):
    """The links between the lists of cases and the map of one window."""

    def __init__(self, window: QMainWindow, state: WindowState, panels: Panels, layout: DockLayout) -> None:
        super().__init__(window)
        self._window, self._state, self._panels, self._layout = window, state, panels, layout
        #: The map, once it is built, and the current case.
        self._map: MapPage | None = None
        self._current = -1
        self._panels.evaluation.map_built.connect(self._connect_map)
        #: Heights of the dock before and after it grew for the map; ``None`` if it did not.
        self._grown_heights: tuple[int, int] | None = None
        self._panels.evaluation.header.changed.connect(lambda _tab: self.restore_dock())
        self._is_following = False
        library, ranking = self._panels.library.grid, self._panels.ranking.grid
        for grid, other in ((library, ranking), (ranking, library)):
            for signal in (grid.current_changed, grid.selection_changed):
                signal.connect(partial(self._follow, grid, other))
        library.selection_changed.connect(self._mark_selection)

    def _connect_map(self, panel: MapPage) -> None:
        self._map = panel
        panel.chosen.connect(self._show_map_case)
        panel.menu_requested.connect(self._panels.case_menu_requested)
        panel.view.set_current(self._current)
        self._mark_selection()

    def show(self) -> None:
        """Show the map and make the dock high enough."""
        dock = self._layout.show_dock("evaluation")
        self._panels.evaluation.show_map()
        height = min(theme().px(MAP_HEIGHT), self._window.height() // 2)
        if not dock.isFloating() and dock.height() < height:
            self._grown_heights = dock.height(), height
            self._window.resizeDocks([dock], [height], Qt.Orientation.Vertical)

    def restore_dock(self) -> None:
        """Restore the height of the dock when another tab is shown, unless the user resized it."""
        dock, heights, self._grown_heights = self._layout.docks["evaluation"], self._grown_heights, None
        if heights is not None and not dock.isFloating() and abs(dock.height() - heights[1]) <= _TOLERANCE:
            self._window.resizeDocks([dock], [heights[0]], Qt.Orientation.Vertical)

    def _show_map_case(self, row: int) -> None:
        """Make a case of the map current in the library and, if it is not listed there, in the ranking."""
        self._panels.library.grid.set_current(row)
        if self._panels.library.grid.current() != row:
            self._panels.ranking.grid.set_current(row)

    def _mark_selection(self) -> None:
        if self._map is not None:
            self._map.highlight_rows(self._panels.library.grid.selected())

    def _follow(self, grid: CaseGrid, other: CaseGrid, *_row: int) -> None:
        """Another case is current or selected in ``grid``: show that in the other list and on the map."""
        row = self._current = grid.current()
        if self._map is not None:
            self._map.view.set_current(row)
        # A list that is filled anew does not lead the others.
        if self._is_following or grid.is_replacing or row == NONE:
            return
        self._is_following = True
        try:
            # The library shows the query. What is compared with it stays current when the query is chosen, or a case
            # that is not ranked.
            is_compared = row != self._state.query_row and other.model().position_of(row) != NO_PLACE
            stays = other is self._panels.library.grid or not is_compared
            other.mirror(other.current() if stays else row, grid.selection)
        finally:
            self._is_following = False


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
        context.case_menu.fill = self.fill_case_menu
        QShortcut(QKeySequence("Shift+F10"), window, open_menu_of_focus)
        self.panels.compare_requested.connect(self.full.compare)
        self.panels.page_detached.connect(self.full.detach)
        self.panels.page_closed.connect(self.full.leave_page)
        self.panels.full_size_requested.connect(self.full.view_query)
        self.panels.questions_requested.connect(self.full.ask_next)
        self.panels.header_requested.connect(self.commands.show_header)
        self.panels.side_requested.connect(self.layout.show_side)
        self.panels.collapse_requested.connect(self.layout.collapse_library)

    @lazy_part
    def case_links(self) -> CaseLinks:
        return CaseLinks(self._window, self._context.state, self.panels, self.layout)

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
        """Offer what can be done with a case, wherever it is shown, at ``where`` on the screen."""
        menu = case_menu(self._context.case_menu, self._window, case_row)
        if not menu.isEmpty():
            menu.popup(where)

    def fill_case_menu(
        self, menu: QMenu, case_row: int, show_header: Callable[[], object] | None = None
    ) -> None:
        """As :class:`semblance.app.shell.case_menu.CaseMenu` says."""
        state, full = self._context.state, self.full
        header = self._context.actions.menu_text(tr("File header…"), "header")
        index = state.columns.index_of_row(case_row) if case_row >= 0 else -1
        if index < 0:
            add_header_entry(menu, show_header, header)
            return
        case_id = state.columns.ids[index]
        ranked = state.ranking.ranked if state.ranking is not None else ()
        if not full.comparing and any(case.row == case_row for case in ranked):
            menu.addAction(tr("Compare with the query"), partial(full.compare, case_row))
        menu.addAction(tr("View full size"), partial(full.view_case, case_row))
        menu.addAction(tr("Images of the patient"), partial(full.hang, case_row))
        search = partial(search_operations.submit_query, self._context, Query(case=case_id))
        menu.addAction(tr("Search with this case"), search)
        add_header_entry(menu, show_header or partial(self.commands.read_header, case_row), header)
        menu.addAction(tr("Copy case ID"), partial(QGuiApplication.clipboard().setText, case_id))
        if state.query is None or state.query.case != case_id:
            # The query is no more or less like itself.
            self.commands.fill_marks(menu, case_row)
        self.commands.concepts.fill_menu(menu, case_row)
        self.commands.teaching.fill_menu(menu, case_row)
        self.commands.edits.fill_menu(menu, case_row)

    def build(self, part: str) -> None:
        """Build one of :data:`semblance.app.window.main_window.PARTS`, if it is not built already."""
        attrgetter(part)(self)

    def save_before_end(self) -> None:
        """Save the judgements and the view before the window is closed."""
        mark_cards.wait_for_judgements(self._context)
        library_operations.save_view_before_exit(self._context)
