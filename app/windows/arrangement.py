"""Where the docks are and how large: as they usually are, as they were left, and in a narrow window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

from app.theme import theme
from app.windows.rail import LibraryRail

if TYPE_CHECKING:
    from app.windows.docks import Dock
    from app.windows.main import MainWindow

#: Below this width the Library panel folds to a rail.
NARROW = 1360
VERSION = 2
_KEY = f"layout{VERSION}"
_TAB = "side_tab"


class Arrangement(QObject):
    """Of one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._was_narrow = self._laid_out = False

    @property
    def narrow(self) -> bool:
        """Whether the library gives its room to the ranking."""
        return self._window.width() < theme().px(NARROW)

    def place(self, docks: Mapping[str, Dock]) -> None:
        """Every dock where it usually is."""
        window = self._window
        left, right, bottom = (
            Qt.DockWidgetArea.LeftDockWidgetArea,
            Qt.DockWidgetArea.RightDockWidgetArea,
            Qt.DockWidgetArea.BottomDockWidgetArea,
        )
        window.setCorner(Qt.Corner.BottomLeftCorner, bottom)
        window.setCorner(Qt.Corner.BottomRightCorner, bottom)
        for dock in docks.values():
            # Even where it floats it no more, this costs a new window each.
            if dock.isFloating():
                dock.setFloating(False)
        window.addDockWidget(left, docks["library"])
        window.splitDockWidget(docks["library"], docks["query"], Qt.Orientation.Horizontal)
        window.addDockWidget(right, docks["side"])
        window.addDockWidget(bottom, docks["evaluation"])

    def usual_sizes(self) -> None:
        """The widths and heights of LOOK.md, for the present width of the window."""
        small, docks = self.narrow, self._window.docks
        horizontal = [docks["library"], docks["query"], docks["side"]]
        widths = [theme().px(w) for w in ((40, 312, 296) if small else (208, 336, 312))]
        # Its tabs may be called longer in another language; docks come out a few px smaller than wanted.
        widths[2] = max(widths[2], self._window.side.header.sizeHint().width() + theme().px(4))
        self._window.resizeDocks(horizontal, widths, Qt.Orientation.Horizontal)
        height = theme().px(216 if small else 236)
        self._window.resizeDocks([docks["evaluation"]], [height], Qt.Orientation.Vertical)

    def open_rail(self, what: str = "") -> None:
        """Show the whole Library panel, also in a narrow window."""
        dock = self._window.docks["library"]
        if dock.folded:
            dock.fold(None)
            self._window.resizeDocks([dock], [theme().px(200)], Qt.Orientation.Horizontal)
        if what == "filter":
            self._window.library.focus_filter()

    def follow_width(self) -> None:
        """Fold the Library panel, or unfold it, where the window became narrow or wide."""
        docks = type(self._window).docks.built(self._window)
        if docks is not None and self.narrow != self._was_narrow:
            self._was_narrow = self.narrow
            docks["library"].fold(self._make_rail() if self.narrow else None)
            if self._laid_out:
                self.usual_sizes()

    def keep(self) -> None:
        """Keep where the docks are; called while they are shown, for hidden ones have no sizes."""
        if self._laid_out and not self._window.full.open:
            self._window.context.settings.set_bytes(_KEY, self._window.saveState(VERSION))
            self._window.context.settings.set_text(_TAB, self._window.side.current)

    def lay_out_once(self) -> None:
        """The docks as they were left, or as they usually are; they can be sized only once they are shown."""
        if not self._laid_out:
            QTimer.singleShot(0, self, self._lay_out)

    def _lay_out(self) -> None:
        from app.panels.side.panel import NAMES

        window = self._window
        self._laid_out = True
        layout = window.context.settings.bytes(_KEY)
        if layout is None or not window.restoreState(layout, VERSION):
            self.usual_sizes()
        for dock in window.docks.values():
            dock.wanted = not dock.isHidden()
        tab = window.context.settings.text(_TAB)
        if tab in NAMES:
            window.side.show_tab(tab)
        # Docks that are laid out anew lose the keyboard.
        grid = window.library.grid
        grid.setFocus(Qt.FocusReason.OtherFocusReason)
        if grid.current() < 0 and len(grid.deck()):
            grid.set_current(grid.deck().case_row(0))
        QTimer.singleShot(0, window, window.library.show_current)

    def _make_rail(self) -> LibraryRail:
        rail = LibraryRail()
        rail.open_wanted.connect(self.open_rail)
        rail.add_wanted.connect(self._window.actions_["import_more"].trigger)
        return rail
