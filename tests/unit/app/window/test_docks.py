from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.library_operations import close_library
from semblance.app.shell.theme import theme
from semblance.app.window.docks import LibraryIconBar
from tests.helpers.widgets import Paints
from tests.helpers.windows import open_window

pytestmark = pytest.mark.usefixtures("without_processes")

LEFT = Qt.MouseButton.LeftButton


def test_a_narrow_window_collapses_the_library_and_back(qtbot, library):
    with open_window(library) as window:
        dock = window.parts.layout.docks["library"]
        assert not dock.collapsed
        window.resize(1100, 700)
        assert dock.collapsed
        assert not window.panels.library.isVisible()
        opener = next(
            b for b in dock.findChild(LibraryIconBar).findChildren(QToolButton) if "Filter" in b.toolTip()
        )
        qtbot.mouseClick(opener, LEFT)
        assert not dock.collapsed
        assert window.panels.library.search.isVisible()
        window.resize(1440, 800)
        window.resize(1100, 700)
        assert dock.collapsed
        window.resize(1440, 800)
        assert window.panels.library.isVisible()
        assert not opener.isVisible()


def test_the_focus_follows_a_library_that_collapses_and_expands_and_nothing_moves(qapp, library):
    with open_window(library) as window:
        dock = window.parts.layout.docks["library"]
        window.panels.library.grid.setFocus()
        parents = {window.panels.library: window.panels.library.parent(), dock: dock.parent()}
        focused = []
        qapp.focusChanged.connect(lambda _old, new: focused.append(new))
        window.resize(1100, 700)
        assert isinstance(window.focusWidget().parent(), LibraryIconBar)
        assert dock.width() == window.focusWidget().parent().width()
        window.resize(1440, 800)
        assert window.panels.library.grid.hasFocus()
        # On the way it is nowhere: not in other panels, which would show that they have it.
        bar = dock.findChild(LibraryIconBar)
        others = [one for one in focused if one not in (None, window.panels.library.grid)]
        assert others
        assert all(bar.isAncestorOf(one) for one in others)
        assert {widget: widget.parent() for widget in parents} == parents


def test_a_collapsing_window_is_painted_once_in_its_final_layout(library):
    with open_window(library) as window:
        window.resize(1440, 860)
        wait_until_idle(window)
        query = Paints(window.panels.query.header)
        window.resize(1300, 860)
        wait_until_idle(window)
        assert query.count == 1


def test_keys_expand_and_collapse_the_library_of_a_narrow_window(library):
    with open_window(library) as window:
        dock, goes = window.parts.layout.docks["library"], window.context.actions["go_library"]
        assert not window.panels.library.collapse_button.isVisible()
        window.resize(1100, 700)
        goes.trigger()
        assert not dock.collapsed
        assert window.panels.library.grid.hasFocus()
        assert window.panels.library.collapse_button.isVisible()
        goes.trigger()
        assert dock.collapsed
        assert dock.widget().isAncestorOf(window.focusWidget())
        goes.trigger()
        window.panels.library.collapse_button.click()
        assert dock.collapsed
        window.resize(1440, 800)
        goes.trigger()
        goes.trigger()
        assert not dock.collapsed
        assert not window.panels.library.collapse_button.isVisible()


def test_opening_a_library_in_a_narrow_window_moves_the_focus_from_the_collapsed_panel(library):
    with open_window(library) as window:
        window.resize(1100, 700)
        dock = window.parts.layout.docks["library"]
        window.state.set_library(window.state.library)
        wait_until_idle(window)
        assert dock.collapsed
        assert not window.panels.library.grid.hasFocus()
        assert window.panels.ranking.isAncestorOf(window.focusWidget())
        window.context.actions["go_library"].trigger()
        assert not dock.collapsed
        assert window.panels.library.grid.hasFocus()


def test_larger_text_makes_a_window_narrow(library):
    with open_window(library) as window:
        for _ in range(3):
            window.context.actions["text_larger"].trigger()
        assert theme().text_scale == 1.5
        wait_until_idle(window)
        assert window.parts.layout.docks["library"].collapsed
        for _ in range(3):
            window.context.actions["text_smaller"].trigger()
        wait_until_idle(window)
        assert not window.parts.layout.docks["library"].collapsed


def test_text_too_large_for_the_window_lays_panels_over_each_other_and_back(library):
    with open_window(library) as window:
        window.resize(1280, 800)
        wait_until_idle(window)
        docks, over = window.parts.layout.docks, window.tabifiedDockWidgets
        sizes = {name: dock.size() for name, dock in docks.items()}
        assert over(docks["query"]) == []
        for _ in range(5):
            window.context.actions["text_larger"].trigger()
        wait_until_idle(window)
        assert theme().text_scale == 2.0
        assert set(over(docks["query"])) == {docks["side"], docks["evaluation"]}
        assert not docks["query"].visibleRegion().isEmpty()
        window.parts.layout.show_side("train")
        wait_until_idle(window)
        assert not window.panels.side.train.train_button.visibleRegion().isEmpty()
        window.context.actions["go_evaluation"].trigger()
        wait_until_idle(window)
        assert window.focusWidget() is window.panels.evaluation.header.tab_chooser
        assert not window.panels.evaluation.header.tab_chooser.visibleRegion().isEmpty()
        # A dock closed here stays where panels stand beside each other.
        docks["evaluation"].toggleViewAction().trigger()
        for _ in range(5):
            window.context.actions["text_smaller"].trigger()
        wait_until_idle(window)
        assert over(docks["query"]) == []
        assert {name: dock.size() for name, dock in docks.items()} == sizes
        assert docks["evaluation"].isVisible()


@pytest.mark.parametrize("close_first", [False, True])
def test_the_layout_is_remembered_and_can_be_reset(library, close_first):
    with open_window(library) as window:
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, window.parts.layout.docks["side"])
        window.parts.layout.docks["query"].toggleViewAction().trigger()
        window.parts.layout.show_side("refine")
        if close_first:
            window.context.actions["close_library"].trigger()
    with open_window(library) as window:
        train, query = window.parts.layout.docks["side"], window.parts.layout.docks["query"]
        assert window.dockWidgetArea(train) == Qt.DockWidgetArea.LeftDockWidgetArea
        assert query.isHidden()
        assert window.panels.side.current == "refine"
        # The screen of tests is narrow: the library is folded, and the similar cases have the keyboard.
        assert window.parts.layout.docks["library"].collapsed
        assert window.panels.ranking.isAncestorOf(window.focusWidget())
        window.context.actions["layout"].trigger()
        assert window.dockWidgetArea(train) == Qt.DockWidgetArea.RightDockWidgetArea
        assert query.isVisible()


def shown(window) -> set[str]:
    return {name for name, dock in window.parts.layout.docks.items() if dock.isVisible()}


def test_panels_are_there_again_after_a_library_was_closed_from_a_page_on_the_whole_window(library):
    with open_window(library) as window:
        before = shown(window)
        window.parts.full.two_metrics()
        wait_until_idle(window)
        close_library(window.context)
        wait_until_idle(window)
    with open_window(library) as window:
        wait_until_idle(window)
        assert shown(window) == before


def test_the_start_page_stays_alone_when_text_becomes_large(library):
    with open_window(library) as window:
        before = shown(window)
        window.resize(1280, 800)
        close_library(window.context)
        wait_until_idle(window)
        assert not shown(window)
        for command in ("text_larger", "text_smaller"):
            for _ in range(5):
                window.context.actions[command].trigger()
            wait_until_idle(window)
            assert not shown(window)
        window.open_library(library)
        wait_until_idle(window)
        assert shown(window) == before
    with open_window(library) as window:
        wait_until_idle(window)
        assert shown(window) == before
