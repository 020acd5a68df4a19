"""Commands that move the keyboard focus to a panel, and the panel that has it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.shell.context import Context
from semblance.app.window.dock_layout import DockLayout
from semblance.app.window.full_pages import FullPages
from semblance.app.window.panels import Panels
from semblance.app.window.top_bar import TopBar


class PanelFocus:
    """The commands that move the focus to a panel."""

    def __init__(
        self, context: Context, panels: Panels, layout: DockLayout, full: FullPages, top: TopBar
    ) -> None:
        self._context, self._panels, self._layout = context, panels, layout
        self._full, self._top = full, top
        self.commands: dict[str, Callable[[], object]] = {
            "go_library": self.to_library,
            "go_query": self.to_query,
            "go_ranking": self.to_ranking,
            "go_side": self.to_side,
            "go_evaluation": self.to_evaluation,
            "go_metric": self.to_metric,
            "menus": top.go_to_menus,
        }

    def to_library(self) -> None:
        """Focus the cases of the library and expand the panel. In a narrow window a second call collapses it."""
        # A collapsed list may still have the focus.
        is_open = not self._layout.docks["library"].collapsed
        if self._layout.is_narrow and is_open and self._panels.library.grid.hasFocus():
            self._layout.collapse_library()
            return
        self._full.leave()
        self._show("library")
        self._layout.open_library_panel()
        _focus(self._panels.library.grid)

    def to_query(self) -> None:
        """Focus the query's image."""
        self._full.leave()
        self._show("query")
        _focus(self._panels.query.focus_target())

    def to_ranking(self) -> None:
        """Focus the similar cases."""
        self._full.leave()
        grid = self._panels.ranking.grid
        _focus(grid)
        if grid.current() < 0 and len(grid.model()):
            grid.set_current(grid.model().case_row(0))

    def to_side(self) -> None:
        """Focus the tabs of the side panel."""
        self._full.leave()
        self._show("side")
        _focus(self._panels.side.header.tab_chooser)

    def to_evaluation(self) -> None:
        """Focus the tabs of the evaluation."""
        self._full.leave()
        self._show("evaluation")
        _focus(self._panels.evaluation.header.tab_chooser)

    def to_metric(self) -> None:
        """Focus the picker of the metric. A page on the whole window stays open."""
        _focus(self._top.metric_picker)

    def panel_of_keyboard(self) -> str:
        """The name of the help page of the focused panel."""
        if self._context.state.library is None:
            return "getting_started"
        widget = QApplication.focusWidget()
        pages = self._full.pages() | {"ranking": self._panels.ranking}
        while widget is not None:
            if widget in pages.values():
                return next(name for name, page in pages.items() if widget is page)
            if self._panels.side.is_question(widget):
                return "ask_next"
            if widget in self._layout.docks.values():
                name = widget.objectName()
                return self._panels.side.current if name == "side" else name
            widget = widget.parentWidget()
        return "ranking"

    def _show(self, dock: str) -> None:
        self._layout.show_dock(dock)


def _focus(widget: QWidget) -> None:
    widget.window().activateWindow()
    widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
