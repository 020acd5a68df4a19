"""Read and Research: what each shows, how large, and how one comes from one to the other."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.actions import COMMANDS
from semblance.app.shell.theme import set_theme
from semblance.app.window.main_window import MainWindow
from semblance.app.window.workspaces import READ, RESEARCH, WORKSPACES
from tests.helpers.windows import open_window, search_first_case

pytestmark = pytest.mark.usefixtures("without_processes")

CTRL, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.MouseButton.LeftButton


def shown_docks(window) -> set[str]:
    return {name for name, dock in window.parts.layout.docks.items() if dock.isVisible()}


def test_the_first_window_shows_read_and_the_next_the_workspace_last_used(qtbot, library):
    with open_window(library, workspace="") as window:
        assert window.workspaces.current is READ
        assert shown_docks(window) == {"library", "query", "side"}
        assert not window.top.emphasis_slider.isVisible()
        window.activateWindow()
        qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_2, CTRL)
        wait_until_idle(window)
        assert shown_docks(window) == {"library", "query", "side", "evaluation"}
        assert window.top.workspace.value() == "research"
    with open_window(library, workspace="") as window:
        assert window.workspaces.current is RESEARCH
        switch = window.top.workspace
        qtbot.mouseClick(switch, LEFT, pos=QPoint(switch.width() // 4, switch.height() // 2))
        wait_until_idle(window)
        assert window.workspaces.current is READ
        assert shown_docks(window) == {"library", "query", "side"}


def test_read_gives_the_window_to_the_query_and_the_similar_cases(library):
    with open_window(library, workspace="read") as window:
        search_first_case(window)
        query, ranking = window.parts.layout.docks["query"], window.panels.ranking
        grid, image = ranking.grid, window.panels.query.view
        for width, height, share, card in (
            (1440, 900, 0.70, 150),
            (2560, 1440, 0.80, 200),
            (1920, 1080, 0.70, 150),
            (3840, 2160, 0.80, 200),
            (1200, 1920, 0.70, 200),
            (1280, 800, 0.70, 130),
            (1024, 768, 0.70, 110),
        ):
            window.resize(width, height)
            wait_until_idle(window)
            area = sum(one.width() * one.height() for one in (query, ranking))
            assert area / (width * height) >= share, width
            side = grid._layout.image_side
            assert min(image.width(), image.height()) >= 1.5 * side, width
            assert card <= side <= 240, width
            assert grid._layout.columns >= 4, width
            assert grid.card_rect(9).bottom() <= grid.viewport().height(), width


def test_the_query_grows_with_the_window_unless_its_border_was_moved(qtbot, library):
    with open_window(library, workspace="read") as window:
        window.resize(1440, 900)
        wait_until_idle(window)
        query = window.parts.layout.docks["query"]
        before = query.width()
        window.resize(1900, 900)
        wait_until_idle(window)
        assert query.width() > before + 100
        window.resizeDocks([query], [500], Qt.Orientation.Horizontal)
        wait_until_idle(window)
        qtbot.mouseRelease(window, LEFT)
        wait_until_idle(window)
        window.resize(2200, 900)
        wait_until_idle(window)
        assert abs(query.width() - 500) <= 6


def test_each_workspace_keeps_its_own_layout_and_reset_changes_only_the_one_shown(library):
    with open_window(library, workspace="read") as window:
        layout = window.parts.layout
        layout.docks["library"].toggleViewAction().trigger()
        window.workspaces.choose("research")
        wait_until_idle(window)
        assert "library" in shown_docks(window)
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, layout.docks["side"])
        wait_until_idle(window)
        window.workspaces.choose("read")
        wait_until_idle(window)
        assert shown_docks(window) == {"query", "side"}
        window.context.actions["layout"].trigger()
        assert shown_docks(window) == {"library", "query", "side"}
        window.workspaces.choose("research")
        wait_until_idle(window)
        assert window.dockWidgetArea(layout.docks["side"]) == Qt.DockWidgetArea.LeftDockWidgetArea


def test_a_command_of_a_panel_that_read_does_not_show_switches_to_research(library, monkeypatch):
    with open_window(library, workspace="read") as window:
        panels = window.panels
        search_first_case(window)
        # Only where it leads is tested.
        monkeypatch.setattr(panels.side.train, "train", lambda: None)
        monkeypatch.setattr(panels.side.concepts, "ask_name", lambda: None)
        for command, shown in (
            ("go_evaluation", panels.evaluation),
            ("map", panels.evaluation),
            ("refine", panels.side.refine),
            ("new_concept", panels.side.concepts),
            ("train", panels.side.train),
        ):
            window.workspaces.choose("read")
            wait_until_idle(window)
            assert not shown.isVisible(), command
            window.parts.commands.run(command)
            wait_until_idle(window)
            assert window.workspaces.current is RESEARCH, command
            assert shown.isVisible(), command


def test_a_command_of_a_panel_that_both_show_stays(library):
    for workspace in WORKSPACES.values():
        with open_window(library, workspace=workspace.name) as window:
            search_first_case(window)
            for command in ("go_library", "go_query", "go_ranking", "go_side", "why", "find_case"):
                window.context.actions[command].trigger()
                wait_until_idle(window)
                assert window.workspaces.current is workspace, command


def test_a_workspace_chosen_while_comparing_ends_the_comparison(qtbot, library):
    with open_window(library, workspace="read") as window:
        search_first_case(window)
        window.parts.full.compare(window.state.ranking.ranked[0].row)
        wait_until_idle(window)
        window.context.actions["research"].trigger()
        wait_until_idle(window)
        assert not window.parts.full.open
        assert shown_docks(window) == {"library", "query", "side", "evaluation"}
        widths = {name: dock.width() for name, dock in window.parts.layout.docks.items()}
        window.context.actions["layout"].trigger()
        wait_until_idle(window)
        assert {name: dock.width() for name, dock in window.parts.layout.docks.items()} == widths


def test_a_workspace_chosen_without_a_library_is_that_of_the_next_library(library):
    with open_window(library, workspace="read") as window:
        window.context.actions["close_library"].trigger()
        wait_until_idle(window)
        window.context.actions["research"].trigger()
        wait_until_idle(window)
        assert shown_docks(window) == set()
        window.open_library(library)
        wait_until_idle(window)
        assert shown_docks(window) == {"library", "query", "side", "evaluation"}


def spoken(widget: QWidget) -> str:
    """What a screen reader calls it."""
    found = QAccessible.queryAccessibleInterface(widget)
    return found.text(QAccessible.Text.Name) if found is not None else ""


@pytest.mark.parametrize("workspace", list(WORKSPACES))
def test_every_control_has_a_name_and_fits_with_small_and_large_text(qapp, library, workspace):
    with open_window(library, workspace=workspace) as window:
        window.resize(1440, 900)
        search_first_case(window)
        for scale, theme in ((0.8, "dark"), (1.0, "light"), (1.5, "dark")):
            set_theme(qapp, theme, scale)
            wait_until_idle(window)
            assert (window.width(), window.height()) == (1440, 900)
            for tab in WORKSPACES[workspace].tabs:
                window.parts.layout.show_side(tab)
                wait_until_idle(window)
                controls = [
                    one
                    for one in window.findChildren(QWidget)
                    if one.isVisible() and one.focusPolicy() & Qt.FocusPolicy.TabFocus
                ]
                assert len(controls) > 20
                nameless = [one for one in controls if not spoken(one) and one.focusProxy() is None]
                assert [(type(one).__name__, one.parentWidget()) for one in nameless] == []
            assert window.workspaces.current.name == workspace


def test_each_workspace_has_its_menus_and_the_keys_of_all_commands(qtbot, private_home):
    window = MainWindow()
    qtbot.addWidget(window)
    window.show()
    shown = {}
    for workspace in ("research", "read"):
        window.workspaces.choose(workspace)
        menus = [action.menu() for action in window.top.menus.actions() if action.isVisible()]
        assert all(menu.actions() and not menu.actions()[0].isSeparator() for menu in menus)
        shown[workspace] = {action.objectName() for menu in menus for action in menu.actions()}
    actions = window.context.actions
    assert shown["research"] - {""} == {command.id for command in COMMANDS}
    assert "theme" not in shown["read"]
    before = window.context.settings.theme
    wait_until_idle(window)
    window.activateWindow()
    qtbot.keyClick(window.start_page, Qt.Key.Key_D, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert window.context.settings.theme != before
    actions["theme"].trigger()
    window.close()
