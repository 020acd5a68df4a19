"""The keyboard goes to a panel, to what one does there most; and in which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow


def to_library(window: MainWindow) -> None:
    """To the cases of the library, which unfold where only the rail is seen; from them it folds again."""
    # Behind the rail the cases may have kept the keyboard.
    seen = not window.docks["library"].folded
    if window.arrangement.narrow and seen and window.library.grid.hasFocus():
        window.arrangement.fold_again()
        return
    window.full.leave()
    _show(window, "library")
    window.arrangement.open_rail()
    _to(window.library.grid)


def to_query(window: MainWindow) -> None:
    """To the query's image."""
    window.full.leave()
    _show(window, "query")
    _to(window.query.focus_target())


def to_ranking(window: MainWindow) -> None:
    """To the ranked cases, the nearest first."""
    window.full.leave()
    grid = window.ranking.grid
    _to(grid)
    if grid.current() < 0 and len(grid.deck()):
        grid.set_current(grid.deck().case_row(0))


def to_side(window: MainWindow) -> None:
    """To the tabs Why, Train and Refine."""
    window.full.leave()
    _show(window, "side")
    _to(window.side.header.chooser)


def to_evaluation(window: MainWindow) -> None:
    """To the tabs of the evaluation."""
    window.full.leave()
    _show(window, "evaluation")
    _to(window.evaluation.header.chooser)


def to_metric(window: MainWindow) -> None:
    """To the choice of the metric; Tab goes on to the slider. A page on the whole window stays."""
    _to(window.top.metric_picker)


def panel_of_keyboard(window: MainWindow) -> str:
    """Which panel the keyboard is in: its help page's name."""
    if window.state.library is None:
        return "getting_started"
    widget = QApplication.focusWidget()
    pages = window.full.pages() | {"ranking": window.ranking}
    while widget is not None:
        if widget in pages.values():
            return next(name for name, page in pages.items() if widget is page)
        if window.side.asks_in(widget):
            return "ask_next"
        if widget in window.docks.values():
            name = widget.objectName()
            return window.side.current if name == "side" else name
        widget = widget.parentWidget()
    return "ranking"


def _show(window: MainWindow, dock: str) -> None:
    window.docks[dock].bring()


def _to(widget: QWidget) -> None:
    widget.window().activateWindow()
    widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
