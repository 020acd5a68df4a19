"""One current case and one selection in the library, the similar cases and the map."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QMainWindow

from semblance.app.shell.theme import theme
from semblance.app.widgets.cards.card_layout import NO_PLACE
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid

if TYPE_CHECKING:
    from semblance.app.evaluation.map_page import MapPage
    from semblance.app.window.dock_layout import DockLayout
    from semblance.app.window.panels import Panels

#: Preferred height of the map in px at text scale 1. A lower dock grows to it.
HEIGHT = 400
#: Tolerance in px for a dock that was not resized by the user.
_TOLERANCE = 4


class CaseLinks(QObject):
    """The links between the lists of cases and the map of one window."""

    def __init__(self, window: QMainWindow, panels: Panels, layout: DockLayout) -> None:
        super().__init__(window)
        self._window, self._panels, self._layout = window, panels, layout
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
        height = min(theme().px(HEIGHT), self._window.height() // 2)
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
            # What is compared with the query stays current when the query is chosen, or a case that is not ranked.
            is_compared = row != self._panels.library.query_row() and other.model().place_of(row) != NO_PLACE
            stays = other is self._panels.ranking.grid and not is_compared
            other.mirror(other.current() if stays else row, grid.selection)
        finally:
            self._is_following = False
