from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent

from app.models.deck import Deck
from app.models.thumbnails import Thumbnails
from app.widgets.card_layout import MARGIN
from app.widgets.card_pieces import thumbs_of
from app.widgets.case_drag import CASE_MIME, dragged_case, mime_data
from app.widgets.case_grid import NONE, CaseGrid
from app.widgets.gallery import answer, sample_deck
from core.library.columns import PictureState, case_columns


@pytest.fixture
def grid(qtbot) -> CaseGrid:
    made = CaseGrid()
    qtbot.addWidget(made)
    made.resize(560, 400)
    made.set_deck(sample_deck(40))
    made.show()
    return made


def click(qtbot, grid: CaseGrid, place: int, **more) -> None:
    qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=grid.card_rect(place).center(), **more)


def test_a_click_makes_a_case_current(qtbot, grid: CaseGrid) -> None:
    with qtbot.waitSignal(grid.current_changed) as told:
        click(qtbot, grid, 3)
    assert told.args == [4]
    assert grid.current() == 4
    assert "US-0111" in grid.accessibleDescription()
    assert grid.accessibleDescription().startswith("4 of 40")


def test_a_double_click_activates(qtbot, grid: CaseGrid) -> None:
    with qtbot.waitSignal(grid.activated) as told:
        qtbot.mouseDClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=grid.card_rect(2).center())
    assert told.args == [3]


def test_the_keyboard_reaches_every_case(qtbot, grid: CaseGrid) -> None:
    seen = []
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_End):
        qtbot.keyClick(grid, key)
        seen.append(grid.current_place())
    assert seen == [0, 1, 6, 5, 39]
    assert grid.viewport().rect().contains(grid.card_rect(39))
    for key in (Qt.Key.Key_PageUp, Qt.Key.Key_Up):
        qtbot.keyClick(grid, key)
    assert grid.current_place() == 24
    qtbot.keyClick(grid, Qt.Key.Key_Home)
    assert grid.current_place() == 0
    assert grid.verticalScrollBar().value() == 0


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_keys_activate(qtbot, grid: CaseGrid, key: Qt.Key) -> None:
    grid.set_current(2)
    with qtbot.waitSignal(grid.activated) as told:
        qtbot.keyClick(grid, key)
    assert told.args == [2]


def test_other_keys_go_on_to_the_window(qtbot, grid: CaseGrid) -> None:
    qtbot.keyClick(grid, Qt.Key.Key_A)
    qtbot.keyClick(grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert grid.current() == NONE


def test_the_menu_is_wanted_by_mouse_and_by_key(qtbot, grid: CaseGrid) -> None:
    at = grid.card_rect(1).center()
    where = grid.viewport().mapToGlobal(at)
    with qtbot.waitSignal(grid.menu_wanted) as told:
        grid.contextMenuEvent(QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, where))
    assert told.args == [2, where]
    with qtbot.waitSignal(grid.menu_wanted) as told:
        grid.contextMenuEvent(QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
    assert told.args[0] == 2


def test_the_current_case_stays_current_in_another_order(qtbot, grid: CaseGrid) -> None:
    grid.set_current(5)
    deck = grid.deck()
    with qtbot.assertNotEmitted(grid.current_changed):
        grid.set_deck(Deck(deck.columns, deck.order[::-1]))
    assert grid.current() == 5
    assert grid.current_place() == 35
    with qtbot.waitSignal(grid.current_changed) as told:
        grid.set_deck(Deck(deck.columns, np.array([0, 1])))
    assert told.args == [NONE]


def test_a_case_that_is_not_shown_leaves_none_current(grid: CaseGrid) -> None:
    grid.set_current(5)
    grid.set_current(4711)
    assert grid.current() == NONE


def test_thumbs_judge_only_where_they_are_offered(qtbot, grid: CaseGrid) -> None:
    up, down = thumbs_of(grid.card_rect(1), grid._layout)
    with qtbot.assertNotEmitted(grid.judged):
        qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=up.center())
    grid.set_judging(True)
    for where, verdict in ((up, 1), (down, -1)):
        with qtbot.waitSignal(grid.judged) as told:
            qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=where.center())
        assert told.args == [2, verdict]
    grid.set_judgements({2: 1})
    assert grid.deck().judgements == {2: 1}


def test_a_moved_picture_offers_relink(qtbot, grid: CaseGrid) -> None:
    assert grid.deck().columns.state[7] == PictureState.MISSING
    card = grid.card_rect(7)
    middle = card.topLeft() + QPoint(MARGIN + grid._layout.thumb // 2, MARGIN + grid._layout.thumb // 2 + 6)
    with qtbot.waitSignal(grid.relink_wanted) as told:
        qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert told.args == [8]


def test_hover_is_told_and_ends(qtbot, grid: CaseGrid) -> None:
    with qtbot.waitSignal(grid.hovered) as told:
        qtbot.mouseMove(grid.viewport(), grid.card_rect(1).center())
    assert told.args == [2]
    with qtbot.waitSignal(grid.hovered) as told:
        grid.verticalScrollBar().setValue(50)
    assert told.args == [NONE]


def test_a_dragged_case_carries_its_row_and_id(grid: CaseGrid) -> None:
    data = mime_data(grid.deck(), 3)
    assert bytes(data.data(CASE_MIME).data()) == b"4"
    assert data.text() == "US-0111"
    assert dragged_case(data) == 4
    assert dragged_case(QMimeData()) is None


def test_resizing_keeps_what_was_on_top(qtbot, grid: CaseGrid) -> None:
    grid.verticalScrollBar().setValue(grid._layout.card(20).top())
    first = grid.visible_places()[0]
    grid.resize(900, 400)
    assert first in grid.visible_places()[: grid._layout.columns]
    grid.resize(300, 400)
    assert first in grid.visible_places()[:8]


def test_pictures_come_and_are_drawn(qtbot, grid: CaseGrid) -> None:
    well = grid.viewport().grab().toImage()
    source = Thumbnails(answer, grid)
    with qtbot.waitSignal(source.ready):
        grid.set_source(source)
        grid.viewport().repaint()
    middle = grid.card_rect(0).topLeft() + QPoint(40, 50)
    qtbot.waitUntil(lambda: grid.viewport().grab().toImage().pixel(middle) != well.pixel(middle))


def test_a_source_can_be_changed_and_taken_away(qtbot, grid: CaseGrid) -> None:
    first, second = Thumbnails(answer, grid), Thumbnails(answer, grid)
    grid.set_source(first)
    grid.set_source(second)
    grid.set_source(None)
    first.ready.emit(frozenset({1}))
    assert not grid.viewport().grab().isNull()


@pytest.mark.parametrize("ranked", [True, False])
def test_as_a_list_there_is_one_case_a_line(qtbot, grid: CaseGrid, ranked: bool) -> None:
    grid.set_rows(True)
    grid.set_deck(sample_deck(40, ranked=ranked))
    assert grid.card_rect(1).top() - grid.card_rect(0).top() == 32
    assert not grid.viewport().grab().isNull()
    grid.set_current(1)
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    assert grid.current_place() == 1


def test_an_empty_grid_takes_keys_and_clicks(qtbot, grid: CaseGrid) -> None:
    grid.set_deck(Deck())
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(50, 50))
    assert grid.current() == NONE
    assert not grid.viewport().grab().isNull()


def test_any_number_of_cases(qtbot, grid: CaseGrid) -> None:
    n = 100_000
    columns = case_columns(range(n), [str(k) for k in range(n)], [None] * n, [None] * n, [0] * n)
    grid.set_deck(Deck(columns, np.arange(n)))
    qtbot.keyClick(grid, Qt.Key.Key_End)
    assert grid.current() == n - 1
    assert grid.viewport().rect().contains(grid.card_rect(n - 1))
