"""Compare in a window of its own, and back in the main window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell import search_operations
from semblance.app.window.window_places import place_on_screen
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
        page, own = window.panels.compare, window.parts.full.page_window("compare")
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
        own = window.parts.full.page_window("compare")
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
        own = window.parts.full.page_window("compare")
        assert own.isVisible()
        assert (own.width(), own.height()) == (700, 500)
        assert window.panels.compare.detach.isChecked()


def test_full_size_has_a_window_of_its_own_with_the_keys_and_closing_it_brings_it_back(qtbot, library):
    with open_window(library, workspace="read") as window:
        search_first_case(window)
        window.context.actions["view_large"].trigger()
        wait_until_idle(window)
        page = window.panels.large
        qtbot.mouseClick(page.detach, LEFT)
        wait_until_idle(window)
        own = window.parts.full.page_window("large")
        assert page.window() is own
        assert own.isVisible()
        assert page.view.image is not None
        assert window.panels.ranking.isVisible()
        window.parts.full.view_case(int(window.state.columns.case_row[2]))
        wait_until_idle(window)
        assert page.source.case == window.state.columns.ids[2]
        own.activateWindow()
        qtbot.keyClick(page.view, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        assert window.parts.commands.palette.isVisible()
        window.parts.commands.palette.close()
        own.close()
        wait_until_idle(window)
        assert not own.isVisible()
        assert page.window() is window
        assert page.isVisible()
        assert page.source.case == window.state.columns.ids[2]
        assert not page.detach.isChecked()


ONE, TWO = QRect(0, 0, 1920, 1080), QRect(1920, 0, 1200, 1600)


@pytest.mark.parametrize(
    ("was", "name", "screens", "expected"),
    [
        # Where it was; on a screen that moved to the other side; on one that is gone; on one that became smaller.
        (QRect(2000, 100, 900, 700), "b", {"a": ONE, "b": TWO}, QRect(2000, 100, 900, 700)),
        (
            QRect(2000, 100, 900, 700),
            "b",
            {"a": ONE, "b": TWO.translated(-3120, 0)},
            QRect(-900, 100, 900, 700),
        ),
        (QRect(2000, 100, 900, 700), "b", {"a": ONE}, QRect(510, 190, 900, 700)),
        (QRect(2000, 100, 900, 700), "b", {"b": QRect(1920, 0, 800, 600)}, QRect(1920, 0, 800, 600)),
    ],
)
def test_a_window_comes_back_on_its_screen_or_on_the_main_one(was, name, screens, expected):
    assert place_on_screen(was, name, screens, ONE) == expected
