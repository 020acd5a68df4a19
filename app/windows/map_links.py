"""The map and the grids tell each other which case is current and which are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Qt

from app.theme import theme

if TYPE_CHECKING:
    from app.windows.main import MainWindow

#: The map wants this much height, px at text scale 1; lower docks grow when it is asked for.
HEIGHT = 400


class MapLinks(QObject):
    """Of one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._map = window.evaluation.map
        self._map.chosen.connect(self._chosen)
        self._map.menu_wanted.connect(window._case_menu)
        window.library.grid.set_multiple(True)
        for grid in (window.library.grid, window.ranking.grid):
            grid.current_changed.connect(self._map.view.set_current)
        window.library.grid.selection_changed.connect(self._selected)

    def show(self) -> None:
        """The map, with room for it."""
        dock = self._window.docks["evaluation"]
        dock.show()
        if dock.isFloating():
            dock.raise_()
        self._window.evaluation.show_map()
        wanted = min(theme().px(HEIGHT), self._window.height() // 2)
        if not dock.isFloating() and dock.height() < wanted:
            self._window.resizeDocks([dock], [wanted], Qt.Orientation.Vertical)

    def _chosen(self, row: int) -> None:
        """A case of the map is current in the library, and in the ranking where it is ranked."""
        ranking = self._window.ranking.grid
        if ranking.deck().place_of(row) >= 0:
            ranking.set_current(row)
        self._window.library.grid.set_current(row)

    def _selected(self) -> None:
        self._map.mark(np.array(self._window.library.grid.selected(), dtype=np.int64))
