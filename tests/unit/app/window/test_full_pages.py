from __future__ import annotations

import shutil

import pytest
from PySide6.QtCore import Qt

from semblance.app.screenshot import wait_until_idle
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN
from tests.helpers.windows import open_window, search_first_case, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return striped_library(
        tmp_path_factory.mktemp("two"),
        metrics=(PLAIN, TrainRequest("pca", "other", settings={"components": 2})),
    )


def test_two_metrics_lead_to_compare_and_back_by_keyboard_alone(qtbot, trained):
    with open_window(trained) as window:
        search_first_case(window)
        before = {name: dock.width() for name, dock in window.parts.layout.docks.items() if dock.isVisible()}
        qtbot.keyClick(
            window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        )
        page = window.panels.two_metrics
        wait_for(window, lambda: page.columns.current() >= 0)
        assert window.pages.currentWidget() is page
        assert page.columns.hasFocus()
        assert window.parts.commands.focus.panel_of_keyboard() == "two_metrics"
        qtbot.keyClick(page.columns, Qt.Key.Key_Down)
        row = page.columns.current()
        qtbot.keyClick(page.columns, Qt.Key.Key_Return)
        wait_until_idle(window)
        assert window.parts.full.comparing
        assert (
            window.state.columns.ids[window.state.columns.index_of_row(row)]
            == window.panels.compare.current_case()
        )
        qtbot.keyClick(window.panels.compare.panes[1].view, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert window.pages.currentWidget() is page
        assert page.columns.current() == row
        qtbot.keyClick(page.columns, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.panels.ranking
        assert {
            name: dock.width() for name, dock in window.parts.layout.docks.items() if dock.isVisible()
        } == before


def test_closing_the_library_leaves_two_metrics(trained):
    with open_window(trained) as window:
        search_first_case(window)
        window.context.actions["two_metrics"].trigger()
        wait_until_idle(window)
        window.context.actions["close_library"].trigger()
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.start_page
        assert not window.context.actions["two_metrics"].isEnabled()


def test_the_data_check_leads_to_a_case_and_is_still_there_afterwards(qtbot, trained):
    with open_window(trained) as window:
        window.context.actions["data_check"].trigger()
        page = window.panels.data_check
        wait_for(window, page.table.issues.rowCount)
        assert window.pages.currentWidget() is page
        assert page.table.hasFocus()
        assert window.parts.commands.focus.panel_of_keyboard() == "data_check"
        issue = page.table.current()
        qtbot.keyClick(page.table, Qt.Key.Key_Return)
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.panels.ranking
        shown = window.panels.library.grid.model()
        assert [shown.case_row(place) for place in range(len(shown))] == sorted(issue.rows)
        window.context.actions["data_check"].trigger()
        wait_until_idle(window)
        assert page.table.current() == issue
        qtbot.keyClick(page.table, Qt.Key.Key_Escape)
        assert window.pages.currentWidget() is window.panels.ranking


def test_questions_take_the_whole_window_by_keyboard_and_give_it_back(qtbot, trained, tmp_path):
    library = tmp_path / "Striped.semblance"
    shutil.copytree(trained, library)
    with open_window(library) as window:
        search_first_case(window)
        before = {name: dock.width() for name, dock in window.parts.layout.docks.items() if dock.isVisible()}
        qtbot.keyClick(
            window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        )
        page = window.panels.ask_next
        wait_for(window, lambda: page.session.question is not None)
        assert window.parts.full.shows_questions
        assert page.hasFocus()
        assert window.parts.commands.focus.panel_of_keyboard() == "ask_next"
        first = page.session.question
        qtbot.keyClick(page, Qt.Key.Key_B)
        wait_until_idle(window)
        assert window.state.judgement_count == 2
        window.context.actions["undo_judgement"].trigger()
        wait_until_idle(window)
        assert window.state.judgement_count == 0
        assert page.session.question == first
        qtbot.keyClick(page, Qt.Key.Key_N)
        wait_until_idle(window)
        qtbot.keyClick(page, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.panels.ranking
        assert {
            name: dock.width() for name, dock in window.parts.layout.docks.items() if dock.isVisible()
        } == before
        assert window.state.judgement_count == 2


def test_panels_in_tabs_come_back_as_they_were(trained):
    with open_window(trained) as window:
        window.resize(1280, 800)
        for _ in range(5):
            window.context.actions["text_larger"].trigger()
        search_first_case(window)
        side = window.parts.layout.docks["side"]
        window.parts.layout.show_side("why")
        wait_until_idle(window)
        assert window.tabifiedDockWidgets(side)
        width = side.width()
        window.parts.full.compare(window.state.ranking.ranked[0].row)
        wait_until_idle(window)
        window.parts.full.leave()
        wait_until_idle(window)
        assert not side.visibleRegion().isEmpty()
        assert abs(side.width() - width) <= 2


def test_the_refine_panel_asks_and_leads_to_full_size(qtbot, trained, tmp_path):
    library = tmp_path / "Striped.semblance"
    shutil.copytree(trained, library)
    with open_window(library) as window:
        search_first_case(window)
        window.context.actions["refine"].trigger()
        section = window.panels.side.question
        wait_for(window, lambda: section.session.question is not None)
        qtbot.mouseClick(section.first, Qt.MouseButton.LeftButton)
        wait_until_idle(window)
        assert window.state.judgement_count == 2
        section.header.action_requested.emit()
        wait_until_idle(window)
        assert window.parts.full.shows_questions


def test_the_map_is_higher_and_restores_the_height(trained):
    with open_window(trained) as window:
        search_first_case(window)
        dock = window.parts.layout.docks["evaluation"]
        before = dock.height()
        window.context.actions["map"].trigger()
        wait_for(window, lambda: dock.height() > before + 50)
        window.panels.evaluation.header.tabs.setCurrentIndex(0)
        wait_for(window, lambda: abs(dock.height() - before) <= 2)
        window.context.actions["map"].trigger()
        wait_for(window, lambda: dock.height() > before + 50)
        window.resizeDocks([dock], [dock.height() - 30], Qt.Orientation.Vertical)
        wait_until_idle(window)
        chosen = dock.height()
        window.panels.evaluation.header.tabs.setCurrentIndex(0)
        wait_until_idle(window)
        assert dock.height() == chosen, "whoever sized it keeps that size"


def test_the_next_start_does_not_use_the_height_of_the_map(trained):
    with open_window(trained) as window:
        search_first_case(window)
        before = window.parts.layout.docks["evaluation"].height()
        window.context.actions["map"].trigger()
        wait_for(window, lambda: window.parts.layout.docks["evaluation"].height() > before + 50)
    with open_window(trained) as window:
        wait_until_idle(window)
        assert abs(window.parts.layout.docks["evaluation"].height() - before) <= 2


def test_the_map_and_the_grids_share_the_selection(qtbot, trained):
    with open_window(trained) as window:
        search_first_case(window)
        qtbot.keyClick(
            window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        )
        panel = window.panels.evaluation.map
        wait_for(window, lambda: panel.map is not None and panel.map.preserved is not None)
        view, library, ranking = panel.view, window.panels.library.grid, window.panels.ranking.grid
        assert window.focusWidget() is view
        qtbot.keyClick(view, Qt.Key.Key_Right)
        row = view.current()
        assert library.current() == row
        assert ranking.current() == row
        other = window.state.ranking.ranked[3].row
        ranking.set_current(other)
        assert view.current() == other
        some = panel.map.rows[2:9]
        view.selected.emit(some)
        assert len(library.model()) == 7
        assert window.panels.library.show_all_button.isVisible()
        window.panels.library.show_all_button.click()
        assert len(library.model()) == 24
        rows = [library.model().case_row(place) for place in range(3)]
        library.setFocus()
        library.set_current(rows[0])
        for _ in range(2):
            qtbot.keyClick(library, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        assert int((~view.faded).sum()) == len(library.selected()) > 1
