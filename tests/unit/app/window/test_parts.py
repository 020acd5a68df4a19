"""One current case and one selection in the library and among the similar cases."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell import edit_operations
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.core.workflows.library.edit_cases import set_finding
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")

LEFT, NO_KEY, CTRL = (
    Qt.MouseButton.LeftButton,
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ControlModifier,
)


def test_what_is_chosen_in_one_list_is_seen_in_the_other_and_the_query_stays_where_stepping_goes_on(
    qtbot, library
):
    def click(grid: CaseGrid, place: int, held: Qt.KeyboardModifier = NO_KEY) -> int:
        row = grid.model().case_row(place)
        grid.verticalScrollBar().setValue(grid.card_rect(place).top() + grid.verticalScrollBar().value())
        qtbot.mouseClick(grid.viewport(), LEFT, held, grid.card_rect(place).center())
        QApplication.processEvents()
        return row

    with open_window(library) as window:
        cases, ranking, state = window.panels.library.grid, window.panels.ranking.grid, window.state
        window.context.actions["same_patient"].trigger()
        window.panels.library.step(1)
        wait_for(window, lambda: state.ranking is not None)
        query = state.query.case
        place = cases.current_place()
        assert cases.model().columns.ids[cases.model().index(place)] == query

        # What is compared is selected in the library, where the query stays the current case.
        first = click(ranking, 2)
        assert (cases.current_place(), cases.selection.tolist()) == (place, [])
        second = click(ranking, 4, CTRL)
        assert cases.current_place() == place
        assert cases.selection.tolist() == ranking.selection.tolist() == sorted((first, second))
        # Several cases selected in the library are selected in the ranking, and nothing is searched.
        third = click(cases, place)
        click(cases, place + 1, CTRL)
        assert state.query.case == query and len(cases.selection) == 2
        assert set(ranking.selection.tolist()) <= set(cases.selection.tolist())

        # An edit leaves the current case alone.
        edit_operations.edit(
            window.context, set_finding, [state.columns.ids[state.columns.index_of_row(third)]], "odd"
        )
        wait_for(window, lambda: "odd" in state.columns.findings)
        assert cases.current_place() == place + 1

        window.panels.library.step(1)
        wait_until_idle(window)
        assert state.query.case == cases.model().columns.ids[cases.model().index(place + 1)]
        assert cases.current() != NONE
        assert cases.model().position_of(cases.current()) == place + 1

        # Nothing is current among the similar cases of a new query: Compare begins with the nearest.
        assert ranking.current() == NONE
        window.context.actions["compare"].trigger()
        wait_until_idle(window)
        assert window.panels.compare.current_case() == state.ranking.ranked[0].case_id
