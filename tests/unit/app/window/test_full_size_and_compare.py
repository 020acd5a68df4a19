from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from semblance.app.screenshot import wait_until_idle
from tests.helpers.windows import open_window, search_first_case

LEFT = Qt.MouseButton.LeftButton

pytestmark = pytest.mark.usefixtures("without_processes")


def test_comparing_takes_the_whole_window_and_gives_it_back(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        before = {name: dock.width() for name, dock in window.parts.layout.docks.items() if dock.isVisible()}
        window.panels.ranking.grid.setFocus()
        qtbot.keyClick(window.panels.ranking.grid, Qt.Key.Key_Home)
        window.context.actions["compare"].trigger()
        wait_until_idle(window)
        assert window.parts.full.comparing
        assert not any(dock.isVisible() for dock in window.parts.layout.docks.values())
        assert window.panels.compare.current_case() == window.state.ranking.ranked[0].case_id
        assert window.parts.commands.focus.panel_of_keyboard() == "compare"
        window.panels.compare.step(3)
        wait_until_idle(window)
        qtbot.keyClick(window.panels.compare.panes[1].view, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert not window.parts.full.comparing
        # What was compared last stays the current case.
        assert window.panels.ranking.grid.current() == window.state.ranking.ranked[3].row
        after = {name: dock.width() for name, dock in window.parts.layout.docks.items() if dock.isVisible()}
        assert after == before


def test_closing_the_library_while_comparing_leads_to_the_start(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        window.parts.full.compare(window.state.ranking.ranked[0].row)
        wait_until_idle(window)
        window.context.actions["close_library"].trigger()
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.start_page
        assert not any(dock.isVisible() for dock in window.parts.layout.docks.values())


def test_the_full_size_view_restores_everything_when_closed(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        sizes = {name: dock.size() for name, dock in window.parts.layout.docks.items() if dock.isVisible()}
        qtbot.mouseDClick(window.panels.query.header, LEFT)
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.panels.large
        assert window.panels.large.view.image is not None
        assert not any(dock.isVisible() for dock in window.parts.layout.docks.values())
        assert not window.parts.layout.docks["query"].isFloating()
        assert window.parts.commands.focus.panel_of_keyboard() == "large"
        panes = (window.panels.query.pane, *window.panels.compare.panes)
        assert [pane.slices._is_paused for pane in panes] == [True, True, True]
        qtbot.keyClick(window.panels.large.view, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.panels.ranking
        assert window.panels.large.view.image is None
        assert [pane.slices._is_paused for pane in panes] == [False, True, True]
        assert {
            name: dock.size() for name, dock in window.parts.layout.docks.items() if dock.isVisible()
        } == sizes


def test_the_case_with_the_focus_is_shown_in_full_size(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        row = int(window.state.columns.case_row[5])
        window.panels.library.grid.set_current(row)
        window.panels.library.grid.setFocus()
        window.context.actions["view_large"].trigger()
        wait_until_idle(window)
        assert window.panels.large.source.case == window.state.columns.ids[5]
        window.parts.full.view_query()
        wait_until_idle(window)
        assert window.panels.large.source.case == window.state.query.case
        window.parts.full.compare(window.state.ranking.ranked[0].row)
        assert window.parts.full.comparing
        assert window.panels.large.source is None
        assert [pane.slices._is_paused for pane in window.panels.compare.panes] == [False, False]


def test_closing_the_library_leaves_the_large_image(library):
    with open_window(library) as window:
        window.parts.full.view_case(int(window.state.columns.case_row[0]))
        wait_until_idle(window)
        window.context.actions["close_library"].trigger()
        wait_until_idle(window)
        assert window.pages.currentWidget() is window.start_page
        assert window.panels.large.view.image is None


def test_the_header_is_that_of_the_visible_image(library):
    with open_window(library) as window:
        window.panels.library.grid.set_current(int(window.state.columns.case_row[3]))
        window.panels.library.grid.setFocus()
        window.context.actions["header"].trigger()
        wait_until_idle(window)
        dialog = window.panels.file_header
        values = {line.name: line.value for line in dialog.view.rows.found}
        assert values["Format"] == "PNG"
        assert Path(values["File"]).name == Path(window.state.columns.ids[3]).name
        window.panels.lists.close_current()
        search_first_case(window)
        window.panels.query.header_requested.emit()
        wait_until_idle(window)
        values = {line.name: line.value for line in dialog.view.rows.found}
        assert Path(values["File"]).name == Path(window.state.columns.ids[0]).name
        window.panels.lists.close_current()


def test_the_header_of_an_image_that_is_still_loading_is_its_own(library):
    with open_window(library) as window:
        search_first_case(window)
        ids, rows = window.state.columns.ids, window.state.columns.case_row

        def header_case() -> str:
            wait_until_idle(window)
            values = {line.name: line.value for line in window.panels.file_header.view.rows.found}
            return Path(values["File"]).name

        # The image of the query before is still on the screen.
        window.panels.library.grid.activated.emit(int(rows[4]))
        window.panels.query.header_requested.emit()
        assert header_case() == Path(ids[4]).name
        window.parts.full.view_case(int(rows[2]))
        wait_until_idle(window)
        window.parts.full.view_case(int(rows[5]))
        window.context.actions["header"].trigger()
        assert header_case() == Path(ids[5]).name


@pytest.mark.parametrize("page", ["compare", "large"])
def test_keys_mark_the_case_that_fills_the_window(qtbot, library, page):
    with open_window(library) as window:
        search_first_case(window)
        case = window.state.ranking.ranked[1]
        open_page = window.parts.full.compare if page == "compare" else window.parts.full.view_case
        open_page(case.row)
        wait_until_idle(window)
        shown = getattr(window.panels, page)
        view = shown.panes[1].view if page == "compare" else shown.view
        qtbot.keyClick(view, Qt.Key.Key_U)
        wait_until_idle(window)
        assert window.state.marks.liked == (case.case_id,)
        qtbot.keyClick(view, Qt.Key.Key_U)
        wait_until_idle(window)
        assert not window.state.marks
        qtbot.keyClick(view, Qt.Key.Key_D)
        wait_until_idle(window)
        assert window.state.marks.disliked == (case.case_id,)


def test_compare_keeps_its_case_and_order_after_less_like_this(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        before = [case.case_id for case in window.state.ranking.ranked]
        window.parts.full.compare(window.state.ranking.ranked[1].row)
        wait_until_idle(window)
        qtbot.keyClick(window.panels.compare.panes[1].view, Qt.Key.Key_D)
        wait_until_idle(window)
        assert window.parts.full.comparing
        assert [case.case_id for case in window.state.ranking.ranked] != before
        assert window.panels.compare.current_case() == before[1]
        assert window.panels.compare.facts.texts()[0] == ["Query", "Rank 2"]


def test_the_ranking_does_not_follow_a_case_that_was_marked_less_to_its_end(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        grid, compare = window.panels.ranking.grid, window.panels.compare
        window.parts.full.compare(window.state.ranking.ranked[1].row)
        wait_until_idle(window)
        less, scrolled = compare.current_case(), grid.verticalScrollBar().value()
        qtbot.keyClick(compare.panes[1].view, Qt.Key.Key_D)
        wait_until_idle(window)
        assert (compare.current_case(), compare.facts.texts()[0]) == (less, ["Query", "Rank 2"])
        window.parts.full.leave()
        wait_until_idle(window)
        ranked = window.state.ranking.ranked
        assert ranked[-1].case_id == less
        assert (grid.current(), grid.verticalScrollBar().value()) == (ranked[1].row, scrolled)


def test_the_query_itself_cannot_be_marked_in_full_size(qtbot, library):
    with open_window(library) as window:
        search_first_case(window)
        window.parts.full.view_query()
        wait_until_idle(window)
        qtbot.keyClick(window.panels.large.view, Qt.Key.Key_U)
        wait_until_idle(window)
        assert not window.state.marks
