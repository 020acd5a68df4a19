"""Keys that lead to each panel, and to the menus, and back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QMenu, QToolButton

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell import search_operations
from semblance.app.widgets.cards.card_view import NONE
from semblance.core.searches.query import Query
from tests.helpers.striped_library import striped_library
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")
CTRL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return striped_library(tmp_path_factory.mktemp("focus"))


def show_query(window):
    search_operations.submit_query(window.context, Query(case=window.state.columns.ids[0]))
    wait_for(window, lambda: window.state.ranking is not None and window.panels.query.shows_query)


def test_the_cases_of_a_library_that_opens_have_the_keyboard(trained):
    with open_window(trained) as window:
        window.activateWindow()
        assert window.focusWidget() is window.panels.library.grid
        assert window.panels.library.grid.current() == window.context.state.query_row != NONE


def test_a_key_leads_to_each_panel_shown_or_not(qtbot, trained):
    with open_window(trained) as window:
        show_query(window)
        window.activateWindow()
        for number, widget in (
            (Qt.Key.Key_2, window.panels.query.view),
            (Qt.Key.Key_4, window.panels.side.header.tabs),
            (Qt.Key.Key_5, window.panels.evaluation.header.tabs),
            (Qt.Key.Key_1, window.panels.library.grid),
            (Qt.Key.Key_3, window.panels.ranking.grid),
        ):
            for dock in window.parts.layout.docks.values():
                dock.hide()
            qtbot.keyClick(window.panels.ranking.grid, number, ALT)
            wait_until_idle(window)
            assert window.focusWidget() is widget
            assert widget.isVisible()
        assert window.panels.ranking.grid.current() == window.state.ranking.ranked[0].row


def test_keys_of_images_reach_the_query_from_the_lists(qtbot, trained):
    with open_window(trained) as window:
        show_query(window)
        view = window.panels.query.view
        for grid in (window.panels.library.grid, window.panels.ranking.grid):
            for key, tool in ((Qt.Key.Key_E, "roi-ellipse"), (Qt.Key.Key_P, "probe")):
                grid.setFocus()
                qtbot.keyClick(grid, key, Qt.KeyboardModifier.ShiftModifier)
                assert view.tool == tool
            qtbot.keyClick(grid, Qt.Key.Key_I)
            qtbot.keyClick(grid, Qt.Key.Key_Delete)
            assert grid.hasFocus()


def test_a_collapsed_library_expands_when_its_key_is_pressed(qtbot, trained):
    with open_window(trained) as window:
        window.resize(1280, 800)
        wait_until_idle(window)
        assert window.parts.layout.docks["library"].collapsed
        qtbot.keyClick(window, Qt.Key.Key_1, ALT)
        wait_until_idle(window)
        assert window.panels.library.grid.isVisible()
        assert window.focusWidget() is window.panels.library.grid


def test_finding_a_case_leaves_the_library_as_wide_as_it_is(qtbot, trained):
    with open_window(trained) as window:
        window.resizeDocks([window.parts.layout.docks["library"]], [320], Qt.Orientation.Horizontal)
        wait_until_idle(window)
        wide = window.parts.layout.docks["library"].width()
        assert wide > 250
        qtbot.keyClick(window, Qt.Key.Key_F, CTRL)
        wait_until_idle(window)
        assert window.parts.layout.docks["library"].width() == wide


def test_closing_a_full_size_image_restores_the_focus(qtbot, trained):
    with open_window(trained) as window:
        show_query(window)
        window.activateWindow()
        for grid in (window.panels.library.grid, window.panels.ranking.grid):
            grid.setFocus(Qt.FocusReason.ShortcutFocusReason)
            qtbot.keyClick(grid, Qt.Key.Key_L, CTRL)
            wait_for(window, lambda: window.panels.large.pane.view.image is not None)
            assert window.parts.full.open
            qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
            wait_until_idle(window)
            assert not window.parts.full.open
            assert window.focusWidget() is grid


def test_tab_reaches_the_cases_with_one_of_them_current(qtbot, trained):
    with open_window(trained) as window:
        window.activateWindow()
        grid = window.panels.library.grid
        grid.set_current(-1)
        grid.clearFocus()
        qtbot.keyClick(window.panels.library.search, Qt.Key.Key_Tab)
        while window.focusWidget() is not grid:
            before = window.focusWidget()
            qtbot.keyClick(before, Qt.Key.Key_Tab)
            assert window.focusWidget() is not before
        assert grid.current() == grid.model().case_row(0)


@pytest.mark.qt_log_ignore("does not support", extend=True)
def test_f10_opens_the_first_menu_and_escape_leads_back(qtbot, trained):
    with open_window(trained) as window:
        window.activateWindow()
        qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_F10)
        opened = QApplication.activePopupWidget()
        assert isinstance(opened, QMenu)
        assert opened is window.top.menu["File"]
        qtbot.keyClick(opened, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)
        # The menus' names keep the keyboard, so that Right opens the next; the second Escape leaves them.
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
        assert window.focusWidget() is window.panels.library.grid


def test_escape_leaves_a_page_on_the_whole_window_from_the_bar_on_top_too(qtbot, trained):
    with open_window(trained) as window:
        show_query(window)
        window.activateWindow()
        window.panels.library.grid.setFocus()
        qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_L, CTRL)
        wait_for(window, lambda: window.panels.large.pane.view.image is not None)
        window.top.commands.setFocus()
        qtbot.keyClick(window.top.commands, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert not window.parts.full.open
        assert window.focusWidget() is window.panels.library.grid


def test_a_key_leads_to_the_metric(qtbot, trained):
    with open_window(trained) as window:
        show_query(window)
        window.activateWindow()
        qtbot.keyClick(window.panels.ranking.grid, Qt.Key.Key_6, ALT)
        picker = window.top.metric_choice
        assert window.focusWidget() is picker
        assert picker.accessibleName() == f"Metric: {window.state.metric.name}"


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_a_button_is_pressed_by_enter_as_by_the_space_bar(qtbot, trained, key):
    with open_window(trained) as window:
        window.activateWindow()
        buttons = window.panels.evaluation.header.findChildren(QToolButton)
        button = next(one for one in buttons if one.accessibleName() == "Help for this panel")
        pressed = []
        button.clicked.connect(lambda: pressed.append(True))
        window.panels.evaluation.header.help_requested.disconnect()
        button.setFocus()
        qtbot.keyClick(button, key)
        assert pressed == [True]


def test_messages_are_closed_by_a_key_from_anywhere(qtbot, trained):
    with open_window(trained) as window:
        window.activateWindow()
        window.context.messages.warning("Something", "to read")
        assert window.message_corner.isVisible()
        qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_X, CTRL | Qt.KeyboardModifier.ShiftModifier)
        assert not window.message_corner.isVisible()
        assert window.focusWidget() is window.panels.library.grid
