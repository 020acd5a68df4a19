"""Compare in a window of its own, and back in the main window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell import search_operations
from semblance.core.searches.query import Query
from tests.helpers.windows import open_window, search_first_case, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")

LEFT = Qt.MouseButton.LeftButton


def compare_detached(window, qtbot):
    """Compare the first ranked case in a window of its own."""
    search_first_case(window)
    window.parts.full.compare(window.state.ranking.ranked[0].row)
    wait_until_idle(window)
    qtbot.mouseClick(window.panels.compare.detach, LEFT)
    wait_until_idle(window)


def test_compare_goes_to_a_window_of_its_own_and_comes_back(qtbot, library):
    with open_window(library, workspace="read") as window:
        compare_detached(window, qtbot)
        page, own = window.panels.compare, window.parts.full.compare_window
        assert page.window() is own
        assert own.isVisible()
        assert page.current_case() == window.state.ranking.ranked[0].case_id
        assert window.panels.ranking.isVisible()
        assert window.parts.layout.docks["query"].isVisible()
        assert [pane.view.image is not None for pane in page.panes] == [True, True]
        qtbot.mouseClick(page.detach, LEFT)
        wait_until_idle(window)
        assert not own.isVisible()
        assert page.window() is window
        assert window.parts.full.comparing
        assert not window.panels.ranking.isVisible()
        qtbot.keyClick(page, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert window.panels.ranking.isVisible()


def test_its_window_follows_the_current_case_the_query_and_the_keys(qtbot, library):
    with open_window(library, workspace="read") as window:
        compare_detached(window, qtbot)
        page, state = window.panels.compare, window.state
        window.panels.ranking.grid.set_current(state.ranking.ranked[2].row)
        wait_until_idle(window)
        assert page.current_case() == state.ranking.ranked[2].case_id
        page.step(1)
        wait_until_idle(window)
        assert window.panels.ranking.grid.current() == state.ranking.ranked[3].row
        case = page.current_case()
        qtbot.keyClick(page, Qt.Key.Key_U)
        wait_for(window, lambda: case in state.marks.liked)
        search_operations.submit_query(window.context, Query(case=state.columns.ids[3]))
        wait_for(
            window, lambda: state.ranking is not None and state.ranking.query.case == state.columns.ids[3]
        )
        assert page.current_case() == state.ranking.ranked[0].case_id
        assert state.columns.name(3) in page.headers[0].title


def test_its_window_opens_again_where_it_was_and_closes_with_the_library(qtbot, library):
    with open_window(library, workspace="read") as window:
        compare_detached(window, qtbot)
        own = window.parts.full.compare_window
        own.resize(700, 500)
        qtbot.keyClick(window.panels.compare, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert not own.isVisible()
        window.parts.full.compare(window.state.ranking.ranked[1].row)
        wait_until_idle(window)
        assert own.isVisible()
        window.context.actions["close_library"].trigger()
        wait_until_idle(window)
        assert not own.isVisible()
    with open_window(library, workspace="read") as window:
        search_first_case(window)
        window.parts.full.compare(window.state.ranking.ranked[1].row)
        wait_until_idle(window)
        own = window.parts.full.compare_window
        assert own.isVisible()
        assert (own.width(), own.height()) == (700, 500)
        assert window.panels.compare.detach.isChecked()
