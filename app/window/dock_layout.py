"""The docks of the window: their places and sizes, and the arrangement of narrow and small windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer

from semblance.app.shell.lazy import lazy_part
from semblance.app.shell.theme import is_styled, theme
from semblance.app.window.docks import Dock
from semblance.app.window.icon_bar import LibraryIconBar
from semblance.core.language import tr

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMainWindow

    from semblance.app.shell.context import Context
    from semblance.app.window.panels import Panels

#: Below this width the Library panel collapses to an icon bar.
NARROW = 1360
#: Below this width or height the other panels are tabs beside the ranking.
SMALL_WINDOW = (1000, 480)
VERSION = 2
#: By whether panels lie over each other.
_KEYS = {False: f"layout{VERSION}", True: f"cramped{VERSION}"}
_TAB = "side_tab"


class DockLayout(QObject):
    """The docks of one window, built on first use."""

    def __init__(self, window: QMainWindow, context: Context, panels: Panels) -> None:
        super().__init__(window)
        self._window, self._context, self._panels = window, context, panels
        self._was_narrow = self._is_laid_out = self._was_small = self._is_saved = False

    @lazy_part
    def docks(self) -> dict[str, Dock]:
        """The docks by their names: library, query, side and evaluation."""
        window, panels = self._window, self._panels
        library, query, side, evaluation = panels.library, panels.query, panels.side, panels.evaluation
        docks = {
            "library": Dock(
                window, tr("Library"), "library", library, [library.view, library.collapse_button]
            ),
            "query": Dock(window, tr("Query"), "query", query, header=query.header),
            "side": Dock(window, tr("Why, Train, Refine"), "side", side, header=side.header),
            "evaluation": Dock(window, tr("Evaluation"), "evaluation", evaluation, header=evaluation.header),
        }
        for dock in docks.values():
            dock.help_requested.connect(panels.help_requested)
        self.place(docks)
        if self._context.state.library is None:
            # While no library is open only the start page is shown.
            for dock in docks.values():
                dock.hide()
        return docks

    def show_side(self, tab: str) -> None:
        """Bring one of the panels at the right to the front."""
        self.docks["side"].bring_to_front()
        self._panels.side.show_tab(tab)

    def show_docks(self, shown: bool) -> None:
        """Show the docks that are built and not closed by the user, or hide all."""
        for dock in (DockLayout.docks.built(self) or {}).values():
            dock.setVisible(shown and dock.is_open)

    def reset(self) -> None:
        """Show every dock at its default place."""
        self.place(self.docks)
        for dock in self.docks.values():
            dock.is_open = True
            dock.setVisible(self._context.state.library is not None)
        self.set_default_sizes()

    @property
    def is_narrow(self) -> bool:
        """Whether the window is too narrow for the whole Library panel."""
        return self._window.width() < theme().px(NARROW)

    @property
    def is_small(self) -> bool:
        """Whether the window is so small for the text size that panels become tabs."""
        width, height = (theme().px(side) for side in SMALL_WINDOW)
        return self._window.width() < width or self._window.height() < height

    def place(self, docks: Mapping[str, Dock]) -> None:
        """Move every dock to its default place."""
        window = self._window
        left, right, bottom = (
            Qt.DockWidgetArea.LeftDockWidgetArea,
            Qt.DockWidgetArea.RightDockWidgetArea,
            Qt.DockWidgetArea.BottomDockWidgetArea,
        )
        window.setCorner(Qt.Corner.BottomLeftCorner, bottom)
        window.setCorner(Qt.Corner.BottomRightCorner, bottom)
        for dock in docks.values():
            # setFloating makes a new window even if the dock does not float.
            if dock.isFloating():
                dock.setFloating(False)
        window.addDockWidget(left, docks["library"])
        window.splitDockWidget(docks["library"], docks["query"], Qt.Orientation.Horizontal)
        if self._was_small:
            window.tabifyDockWidget(docks["query"], docks["side"])
            window.tabifyDockWidget(docks["side"], docks["evaluation"])
            docks["query"].raise_()
        else:
            window.addDockWidget(right, docks["side"])
            window.addDockWidget(bottom, docks["evaluation"])

    def set_default_sizes(self) -> None:
        """Set the default widths and heights for the width of the window."""
        small, docks = self.is_narrow, self.docks
        if self._was_small:
            widths = [theme().px(40), self._window.width() * 46 // 100]
            self._window.resizeDocks([docks["library"], docks["query"]], widths, Qt.Orientation.Horizontal)
            return
        horizontal = [docks["library"], docks["query"], docks["side"]]
        widths = [theme().px(w) for w in ((40, 312, 328) if small else (208, 336, 328))]
        # Its tabs may be called longer in another language; docks come out a few px smaller than wanted.
        widths[2] = max(widths[2], self._panels.side.header.sizeHint().width() + theme().px(4))
        self._window.resizeDocks(horizontal, widths, Qt.Orientation.Horizontal)
        height = theme().px(180 if small else 236)
        self._window.resizeDocks([docks["evaluation"]], [height], Qt.Orientation.Vertical)

    def open_library_panel(self, what: str = "") -> None:
        """Show the whole Library panel, also in a narrow window. ``what``: "filter" to focus its filter."""
        dock = self.docks["library"]
        if dock.collapsed:
            # The ranking gives room first: else the panels at the right would, and cut their tabs and names.
            neighbours = [] if self._was_small else [self.docks[name] for name in ("query", "side")]
            widths = [theme().px(208), *(one.width() for one in neighbours)]
            self._expand_library()
            self._window.resizeDocks([dock, *neighbours], widths, Qt.Orientation.Horizontal)
        if what == "filter":
            self._panels.library.focus_filter()

    def take_focus(self) -> None:
        """Focus the cases of the library, or the icon bar if they are collapsed."""
        if self.docks["library"].collapsed:
            self._icon_bar.take_focus()
        else:
            self._panels.library.focus_cases()

    def collapse_library(self) -> None:
        """Show the icon bar instead of the Library panel and move the focus to it."""
        self._collapse_library()
        self.set_default_sizes()

    def _collapse_library(self) -> None:
        dock, icon_bar = self.docks["library"], self._icon_bar
        had_focus = dock.isAncestorOf(self._window.focusWidget() or self._window)
        # The text size may just have changed.
        icon_bar.fit()
        dock.collapse(icon_bar)
        if had_focus:
            icon_bar.take_focus()
        self._panels.library.collapse_button.setVisible(self.is_narrow)

    def _expand_library(self) -> None:
        dock, library = self.docks["library"], self._panels.library
        had_focus = self._icon_bar.isAncestorOf(self._window.focusWidget() or self._window)
        dock.collapse(None)
        if had_focus:
            library.focus_cases()
        library.collapse_button.setVisible(self.is_narrow)

    def follow_width(self) -> None:
        """Fold the Library panel, or unfold it, where the window became narrow or wide.

        The others lie over each other where the window is too small for them.
        """
        docks = DockLayout.docks.built(self)
        if docks is None or (self.is_small, self.is_narrow) == (self._was_small, self._was_narrow):
            self._is_saved = False
            return
        if not is_styled():
            # Panels are sized once it is known how small their hidden pages can be; what they have is kept
            # as long as they have it.
            if self.is_small != self._was_small and not self._is_saved:
                self._is_saved = True
                self.save()
            return
        if self.is_small != self._was_small:
            self._change_arrangement(docks)
        if self.is_narrow != self._was_narrow:
            self._was_narrow = self.is_narrow
            if self.is_narrow:
                self._collapse_library()
            else:
                self._expand_library()
            if self._is_laid_out:
                self.set_default_sizes()
        # At once, so that no intermediate layout is painted.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    def _change_arrangement(self, docks: Mapping[str, Dock]) -> None:
        if not self._is_saved:
            self.save()
        self._is_saved = False
        self._was_small = self.is_small
        are_shown = self._are_docks_shown(docks)
        shown = {name: not dock.isHidden() for name, dock in docks.items()}
        self.place(docks)
        for name, dock in docks.items():
            dock.setVisible(shown[name])
        if self._is_laid_out and are_shown:
            self._restore()
        elif self._context.state.library is None:
            # With the next library.
            self._is_laid_out = False

    @staticmethod
    def _are_docks_shown(docks: Mapping[str, Dock]) -> bool:
        """Whether docks are hidden only where the user closed them, not behind a page on the whole window."""
        return any(not dock.isHidden() for dock in docks.values()) or not any(
            dock.is_open for dock in docks.values()
        )

    def _restore(self) -> None:
        """Restore the saved layout of a window of this kind, or the default one."""
        layout = self._context.settings.bytes(_KEYS[self._was_small])
        if layout is None or not self._window.restoreState(layout, VERSION):
            self.set_default_sizes()
        for dock in self.docks.values():
            dock.is_open = not dock.isHidden()

    def save(self) -> None:
        """Keep where the docks are, while they are shown: behind other pages they have no sizes."""
        if self._is_laid_out and self._are_docks_shown(self.docks):
            key = _KEYS[self._was_small]
            self._context.settings.set_bytes(key, self._window.saveState(VERSION))
            self._context.settings.set_text(_TAB, self._panels.side.current)

    def restore_once(self) -> None:
        """Restore the docks once they are shown, because they can be sized only then."""
        if not self._is_laid_out:
            QTimer.singleShot(0, self, self._restore_layout)

    def _restore_layout(self) -> None:
        from semblance.app.window.side_panel import NAMES

        self._is_laid_out = True
        self._restore()
        tab = self._context.settings.text(_TAB)
        if tab in NAMES:
            self._panels.side.show_tab(tab)
        # Docks lose the focus when they are arranged.
        self.take_focus()
        grid = self._panels.library.grid
        if grid.current() < 0 and len(grid.model()):
            grid.set_current(grid.model().case_row(0))
        QTimer.singleShot(0, self, self._panels.library.show_current)

    @lazy_part
    def _icon_bar(self) -> LibraryIconBar:
        icon_bar = LibraryIconBar()
        icon_bar.open_requested.connect(self.open_library_panel)
        icon_bar.add_requested.connect(self._context.actions["import_more"].trigger)
        return icon_bar
