from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QContextMenuEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from semblance.app.widgets.cards import card_view
from semblance.app.widgets.cards.card_layout import MARGIN, card_feedback_buttons, image_square
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_drag import CASE_MIME, dragged_case, mime_data
from semblance.app.widgets.cards.case_grid import CaseGrid, Selection
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.library.case_columns import CaseColumns, ImageAvailability, case_columns
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.imaging.card_images import CardImage
from tests.helpers.gallery import answer, sample_cases
from tests.helpers.widgets import show_widget


def click(qtbot, grid: CaseGrid, place: int, **more) -> None:
    qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=grid.card_rect(place).center(), **more)


def test_a_click_makes_a_case_current(qtbot, grid: CaseGrid) -> None:
    with qtbot.waitSignal(grid.current_changed) as signal:
        click(qtbot, grid, 3)
    assert signal.args == [4]
    assert grid.current() == 4
    assert "US-0111" in grid.accessibleDescription()
    assert grid.accessibleDescription().startswith("4 of 40")


def test_a_double_click_activates(qtbot, grid: CaseGrid) -> None:
    with qtbot.waitSignal(grid.activated) as signal:
        qtbot.mouseDClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=grid.card_rect(2).center())
    assert signal.args == [3]


def test_a_card_higher_than_the_viewport_shows_its_top(qtbot) -> None:
    strip = show_widget(qtbot, CaseGrid(), 300, 80)
    strip.set_model(sample_cases(40))
    for row in (1, 12):
        strip.set_current(row)
        assert 0 <= strip.card_rect(strip.current_place()).top() < 20


def test_the_keyboard_reaches_every_case(qtbot, grid: CaseGrid) -> None:
    grid.set_current(NONE)
    places = []
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_End):
        qtbot.keyClick(grid, key)
        places.append(grid.current_place())
    assert places == [0, 1, 6, 5, 39]
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
    with qtbot.waitSignal(grid.activated) as signal:
        qtbot.keyClick(grid, key)
    assert signal.args == [2]


def test_other_keys_go_on_to_the_window(qtbot, grid: CaseGrid) -> None:
    before = grid.current()
    qtbot.keyClick(grid, Qt.Key.Key_A)
    qtbot.keyClick(grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert grid.current() == before


def test_mouse_and_key_request_the_menu(qtbot, grid: CaseGrid) -> None:
    at = grid.card_rect(1).center()
    where = grid.viewport().mapToGlobal(at)
    with qtbot.waitSignal(grid.menu_requested) as signal:
        grid.contextMenuEvent(QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, where))
    assert signal.args == [2, where]
    with qtbot.waitSignal(grid.menu_requested) as signal:
        grid.contextMenuEvent(QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
    assert signal.args[0] == 2


def test_the_current_case_stays_current_in_another_order(qtbot, grid: CaseGrid) -> None:
    grid.set_current(5)
    model = grid.model()
    with qtbot.assertNotEmitted(grid.current_changed):
        grid.set_model(CaseModel(model.columns, model.order[::-1]))
    assert grid.current() == 5
    assert grid.current_place() == 35
    with qtbot.waitSignal(grid.current_changed) as signal:
        grid.set_model(CaseModel(model.columns, np.array([0, 1])))
    assert signal.args == [NONE]


def test_a_case_that_is_not_shown_leaves_none_current(grid: CaseGrid) -> None:
    grid.set_current(5)
    grid.set_current(4711)
    assert grid.current() == NONE


def test_the_number_of_near_duplicates_stays_inside_a_small_card(grid: CaseGrid) -> None:
    model = grid.model()
    counts = np.full(len(model), 12)
    grid.set_model(CaseModel(model.columns, model.order, near_duplicates=counts))
    square = grid.card_rect(1).adjusted(MARGIN, 0, -MARGIN, 0)
    beside = QRect(square.left() - 6, square.top(), 6, square.height())
    with_counts = grid.viewport().grab(beside).toImage()
    grid.set_model(model)
    assert grid.viewport().grab(beside).toImage() == with_counts
    copies = CaseModel(
        model.columns, model.order, near_duplicates=counts, other_findings={model.case_row(1): "benign"}
    )
    assert "+12 same lesion, of the same lesion with another finding: benign" in copies.describe(1)


def test_feedback_buttons_mark_only_where_they_are_offered(qtbot, grid: CaseGrid) -> None:
    up, down = card_feedback_buttons(grid.card_rect(1), grid._layout)
    with qtbot.assertNotEmitted(grid.judged):
        qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=up.center())
    grid.set_judging(True)
    for where, verdict in ((up, 1), (down, -1)):
        with qtbot.waitSignal(grid.judged) as signal:
            qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=where.center())
        assert signal.args == [2, verdict]
    grid.set_judgements({2: 1})
    assert grid.model().judgements == {2: 1}


def test_a_moved_image_offers_relink(qtbot, grid: CaseGrid) -> None:
    assert grid.model().columns.state[7] == ImageAvailability.MISSING
    card = grid.card_rect(7)
    middle = card.topLeft() + QPoint(
        MARGIN + grid._layout.image_side // 2, MARGIN + grid._layout.image_side // 2 + 6
    )
    with qtbot.waitSignal(grid.relink_requested) as signal:
        qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert signal.args == [8]


def test_hover_is_emitted_and_ends(qtbot, grid: CaseGrid) -> None:
    with qtbot.waitSignal(grid.hovered) as signal:
        qtbot.mouseMove(grid.viewport(), grid.card_rect(1).center())
    assert signal.args == [2]
    with qtbot.waitSignal(grid.hovered) as signal:
        grid.verticalScrollBar().setValue(50)
    assert signal.args == [NONE]


def test_a_dragged_case_carries_its_row_and_no_id(grid: CaseGrid) -> None:
    data = mime_data(grid.model(), 3)
    assert bytes(data.data(CASE_MIME).data()) == b"4"
    assert not data.hasText()
    assert dragged_case(data) == 4
    assert dragged_case(QMimeData()) is None


def test_resizing_keeps_what_was_on_top(qtbot, grid: CaseGrid) -> None:
    grid.verticalScrollBar().setValue(grid._layout.card(20).top())
    first = grid.visible_places()[0]
    grid.resize(900, 400)
    assert first in grid.visible_places()[: grid._layout.columns]
    grid.resize(300, 400)
    assert first in grid.visible_places()[:8]


def test_images_come_and_are_drawn(qtbot, grid: CaseGrid) -> None:
    well = grid.viewport().grab().toImage()
    source = ThumbnailLoader(answer, grid)
    with qtbot.waitSignal(source.ready):
        grid.set_source(source)
        grid.viewport().repaint()
    middle = grid.card_rect(0).topLeft() + QPoint(40, 50)
    qtbot.waitUntil(lambda: grid.viewport().grab().toImage().pixel(middle) != well.pixel(middle))


def test_the_matched_place_is_framed_where_it_lies_on_a_letterboxed_image(qtbot, grid: CaseGrid) -> None:
    wide = np.full((40, 160), 90, np.uint8)
    source = ThumbnailLoader(lambda rows, done: done([CardImage(row, wide) for row in rows]), grid)
    grid.set_source(source)
    qtbot.waitUntil(lambda: grid._images.get(1) is not None)
    model, square = grid.model(), image_square(grid.card_rect(0), grid._layout)
    before = grid.viewport().grab().toImage()
    # The right quarter of an image of 1,600 x 400 pixels, from its upper to its lower edge.
    place = MatchedPlace(1200, 0, 400, 400, None, 0.8, 1600, 400)
    grid.set_model(replace(model, places={model.case_row(0): place}))
    after = grid.viewport().grab().toImage()
    changed = [
        (x, y)
        for x in range(square.left(), square.right() + 1)
        for y in range(square.top(), square.bottom() + 1)
        if before.pixel(x, y) != after.pixel(x, y)
    ]
    xs, ys = [x - square.x() for x, _ in changed], [y - square.y() for _, y in changed]
    side, height = square.width(), square.width() / 4
    assert 0.75 * side - 6 <= min(xs) <= 0.75 * side
    assert side - 4 <= max(xs) < side
    assert (side - height) / 2 - 1 <= min(ys) < max(ys) <= (side + height) / 2 + 1
    assert "place 400 × 400 px at 1200, 0" in grid.model().describe(0)


def test_after_a_jump_all_cards_are_drawn_in_several_frames(qtbot, grid: CaseGrid, monkeypatch) -> None:
    grid.set_source(ThumbnailLoader(answer, grid))
    end = grid.verticalScrollBar().maximum()
    grid.verticalScrollBar().setValue(end)
    qtbot.waitUntil(lambda: all(grid._images.get(place + 1) for place in grid.visible_places()))
    whole = grid.grab().toImage()
    grid.verticalScrollBar().setValue(0)
    qtbot.waitUntil(lambda: not grid._late_timer.isActive())
    # Time for one card in each frame.
    monkeypatch.setattr(card_view, "JUMP_BUDGET_S", 0)
    grid.verticalScrollBar().setValue(end)
    assert grid.grab().toImage() != whole
    qtbot.waitUntil(lambda: not grid._jumping)
    assert grid.grab().toImage() == whole


def test_a_source_can_be_changed_and_taken_away(qtbot, grid: CaseGrid) -> None:
    first, second = ThumbnailLoader(answer, grid), ThumbnailLoader(answer, grid)
    grid.set_source(first)
    grid.set_source(second)
    grid.set_source(None)
    first.ready.emit(frozenset({1}))
    assert not grid.viewport().grab().isNull()


@pytest.mark.parametrize("ranked", [True, False])
def test_as_a_list_there_is_one_case_a_line(qtbot, grid: CaseGrid, ranked: bool) -> None:
    grid.set_rows(True)
    grid.set_model(sample_cases(40, ranked=ranked))
    assert grid.card_rect(1).top() - grid.card_rect(0).top() == 32
    assert not grid.viewport().grab().isNull()
    grid.set_current(1)
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    assert grid.current_place() == 1


def test_an_empty_grid_takes_keys_and_clicks(qtbot, grid: CaseGrid) -> None:
    grid.set_model(CaseModel())
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(50, 50))
    assert grid.current() == NONE
    assert not grid.viewport().grab().isNull()


def test_any_number_of_cases(qtbot, grid: CaseGrid) -> None:
    n = 100_000
    columns = case_columns(range(n), [str(k) for k in range(n)], [None] * n, [None] * n, [0] * n)
    grid.set_model(CaseModel(columns, np.arange(n)))
    qtbot.keyClick(grid, Qt.Key.Key_End)
    assert grid.current() == n - 1
    assert grid.viewport().rect().contains(grid.card_rect(n - 1))


CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


class TestChoosingSeveral:
    @pytest.fixture
    def several(self, grid: CaseGrid) -> CaseGrid:
        grid.set_multiple(True)
        return grid

    def test_by_mouse(self, qtbot, several: CaseGrid) -> None:
        click(qtbot, several, 1)
        click(qtbot, several, 4, stateKey=CTRL)
        assert several.selected().tolist() == [2, 5]
        with qtbot.waitSignal(several.selection_changed):
            click(qtbot, several, 2, stateKey=SHIFT)
        assert several.selected().tolist() == [3, 4, 5]
        assert several.accessibleDescription().endswith("3 selected")
        click(qtbot, several, 0)
        assert several.selected().tolist() == [1]

    def test_by_keys(self, qtbot, several: CaseGrid) -> None:
        several.set_current(2)
        for key in (Qt.Key.Key_Right, Qt.Key.Key_Down):
            qtbot.keyClick(several, key, SHIFT)
        assert several.selected().tolist() == [2, 3, 4, 5, 6, 7, 8]
        qtbot.keyClick(several, Qt.Key.Key_Escape)
        assert several.selected().tolist() == [8]
        qtbot.keyClick(several, Qt.Key.Key_A, CTRL)
        assert len(several.selected()) == 40
        qtbot.keyClick(several, Qt.Key.Key_Home)
        assert several.selected().tolist() == [1]

    def test_only_where_it_is_offered(self, qtbot, grid: CaseGrid) -> None:
        click(qtbot, grid, 1)
        click(qtbot, grid, 4, stateKey=CTRL)
        assert grid.selected().tolist() == [5]

    def test_what_is_chosen_stays_in_another_order_and_goes_with_its_cases(self, several: CaseGrid) -> None:
        several.set_current(2)
        several._choose(3, SHIFT)
        model = several.model()
        several.set_model(CaseModel(model.columns, model.order[::-1]))
        assert several.selected().tolist() == [4, 3, 2]
        several.set_model(CaseModel(model.columns, np.array([0, 2])))
        assert several.selected().tolist() == [3]

    def test_all_of_many_are_chosen_and_taken_over_without_a_step_for_each(
        self, qtbot, several: CaseGrid, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        n, looked_up = 20_000, []
        columns = case_columns(range(n), [str(k) for k in range(n)], [None] * n, [None] * n, [0] * n)
        several.set_model(CaseModel(columns, np.arange(n)[::-1]))
        find = CaseColumns.index_of_row
        monkeypatch.setattr(
            CaseColumns, "index_of_row", lambda self, row: looked_up.append(row) or find(self, row)
        )
        several.set_current(n - 1)
        qtbot.keyClick(several, Qt.Key.Key_A, CTRL)
        assert several.selected().tolist() == list(range(n))[::-1]
        several.mirror(5, several.selection)
        several.set_model(CaseModel(columns, np.arange(0, n, 2)))
        assert several.selected().tolist() == list(range(0, n, 2))
        assert len(looked_up) < 10

    def test_the_menu_of_a_chosen_case_is_about_all_of_them(self, qtbot, several: CaseGrid) -> None:
        click(qtbot, several, 1)
        click(qtbot, several, 3, stateKey=CTRL)
        for place, chosen in ((1, [2, 4]), (2, [3])):
            at = several.card_rect(place).center()
            several.contextMenuEvent(QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, at))
            assert several.selected().tolist() == chosen


class TestComparing:
    @pytest.fixture
    def judging(self, grid: CaseGrid) -> CaseGrid:
        grid.set_judging(True)
        return grid

    def test_a_click_on_the_second_case_ends_it(self, qtbot, judging: CaseGrid) -> None:
        click(qtbot, judging, 1)
        judging.comparison.begin(judging.current())
        assert judging.comparison.role_text(2, targeted=False) == "closer"
        assert judging.comparison.role_text(5, targeted=True) == "than this"
        with qtbot.waitSignal(judging.comparison.compared) as signal:
            click(qtbot, judging, 4)
        assert signal.args == [2, 5]
        assert not judging.comparison.pending
        assert judging.current() == 2

    def test_enter_ends_it_and_escape_gives_it_up(self, qtbot, judging: CaseGrid) -> None:
        click(qtbot, judging, 1)
        judging.comparison.begin(2)
        qtbot.keyClick(judging, Qt.Key.Key_Right)
        with qtbot.waitSignal(judging.comparison.compared) as signal:
            qtbot.keyClick(judging, Qt.Key.Key_Return)
        assert signal.args == [2, 3]
        judging.comparison.begin(3)
        with qtbot.assertNotEmitted(judging.comparison.compared):
            qtbot.keyClick(judging, Qt.Key.Key_Escape)
        assert not judging.comparison.pending

    def test_a_case_is_not_compared_with_itself(self, qtbot, judging: CaseGrid) -> None:
        judging.comparison.begin(2)
        with qtbot.assertNotEmitted(judging.comparison.compared):
            click(qtbot, judging, 1)
        assert judging.comparison.pending

    def test_it_ends_when_its_case_is_gone_or_nothing_can_be_judged(self, judging: CaseGrid) -> None:
        judging.comparison.begin(2)
        judging.set_model(CaseModel(judging.model().columns, np.array([3, 4])))
        assert not judging.comparison.pending
        judging.comparison.begin(4)
        judging.set_judging(False)
        assert not judging.comparison.pending
        judging.comparison.begin(4)
        assert not judging.comparison.pending

    def test_a_card_is_dropped_on_another(self, qtbot, judging: CaseGrid, monkeypatch) -> None:
        # Qt fills in the source itself during a real drag.
        for kind in (QDragMoveEvent, QDropEvent):
            monkeypatch.setattr(kind, "source", lambda _event: judging)
        held = (mime_data(judging.model(), 3), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)

        def over(place: int) -> bool:
            at = judging.card_rect(place).center()
            event = QDragMoveEvent(at, Qt.DropAction.CopyAction, *held)
            judging.dragMoveEvent(event)
            return event.isAccepted()

        assert over(1)
        assert judging.comparison.role_text(2, targeted=False) == "than this"
        assert not over(3)
        assert judging.comparison.role_text(2, targeted=False) == ""
        over(1)
        judging.dragLeaveEvent(QDragLeaveEvent())
        assert judging.comparison.role_text(2, targeted=False) == ""
        with qtbot.waitSignal(judging.comparison.compared) as signal:
            at = QPointF(judging.card_rect(1).center())
            judging.dropEvent(QDropEvent(at, Qt.DropAction.CopyAction, *held))
        assert signal.args == [4, 2]

    def test_cards_from_elsewhere_are_not_taken(self, judging: CaseGrid) -> None:
        held = (mime_data(judging.model(), 3), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        at = judging.card_rect(1).center()
        event = QDragMoveEvent(at, Qt.DropAction.CopyAction, *held)
        judging.dragMoveEvent(event)
        assert not event.isAccepted()


def test_feedback_buttons_mark_in_a_list_too(qtbot, grid: CaseGrid) -> None:
    grid.set_judging(True)
    grid.set_rows(True)
    for where, verdict in zip(card_feedback_buttons(grid.card_rect(1), grid._layout), (1, -1), strict=True):
        with qtbot.waitSignal(grid.judged) as signal:
            qtbot.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=where.center())
        assert signal.args == [2, verdict]


def test_the_second_of_two_quick_clicks_judges_no_other_case(qtbot, grid: CaseGrid) -> None:
    grid.set_judging(True)
    up, _ = card_feedback_buttons(grid.card_rect(1), grid._layout)
    with qtbot.assertNotEmitted(grid.judged), qtbot.assertNotEmitted(grid.activated):
        qtbot.mouseDClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=up.center())


@pytest.mark.parametrize("rows", [False, True])
def test_moved_judged_chosen_and_compared_cases_can_be_drawn(grid: CaseGrid, rows: bool) -> None:
    grid.set_rows(rows)
    plain = grid.viewport().grab().toImage()
    grid.set_judging(True)
    grid.set_multiple(True)
    model = grid.model()
    shifts = np.arange(len(model)) - 3
    grid.set_model(replace(model, shifts=shifts, judgements={1: 1, 2: -1}))
    assert grid.model().describe(0).endswith("moved \N{MINUS SIGN}3, marked more like this")
    assert grid.model().shift(3) == ""
    assert [grid.model().shift_arrow(place) for place in (0, 3)] == ["\N{BLACK DOWN-POINTING TRIANGLE}3", ""]
    grid.set_current(4)
    grid._choose(5, SHIFT)
    grid.comparison.begin(6)
    assert grid.viewport().grab().toImage() != plain


def test_cards_of_a_single_line_end_inside_it(grid: CaseGrid) -> None:
    grid.hide_scroll_bar()
    assert grid.viewport().width() == grid.width()


def test_the_label_of_the_current_case_follows_its_judgement(grid: CaseGrid) -> None:
    grid.set_model(sample_cases(40))
    grid.set_current(1)
    grid.set_judgements({})
    before = grid.accessibleDescription()
    grid.set_judgements({1: 1})
    assert grid.accessibleDescription() == f"{before}, marked more like this"


def test_the_focus_is_visible_however_it_arrived(qtbot, grid: CaseGrid, monkeypatch) -> None:
    # Tests of dragging leave a button down.
    monkeypatch.setattr(QApplication, "mouseButtons", lambda: Qt.MouseButton.NoButton)
    grid.activateWindow()
    qtbot.waitUntil(grid.isActiveWindow)
    grid.clearFocus()
    grid.setFocus()
    assert grid.current_place() == 0
    grid.set_model(CaseModel())
    grid.set_model(sample_cases(5))
    assert grid.current_place() == 0


N = 6
COLUMNS = case_columns(range(10, 10 + N), list("abcdef"), [None] * N, [None] * N, [0] * N)
#: Shown back to front: rows 15, 14, ... 10.
MODEL = CaseModel(COLUMNS, np.arange(N)[::-1])


@pytest.fixture
def selection() -> Selection:
    return Selection()


def test_alone_the_current_case_is_chosen(selection):
    assert selection.ordered_rows(MODEL, NONE).tolist() == []
    assert selection.ordered_rows(MODEL, 12).tolist() == [12]


def test_what_is_added_comes_in_the_order_shown(selection):
    selection.toggle(11, 13)
    selection.toggle(14, 11)
    assert selection.ordered_rows(MODEL, 14).tolist() == [14, 13, 11]
    selection.toggle(13, 14)
    assert selection.ordered_rows(MODEL, 13).tolist() == [14, 11]


def test_a_range_goes_on_from_where_it_began(selection):
    selection.select_only(14)
    selection.extend_to(MODEL, 3, 14)
    assert selection.ordered_rows(MODEL, 12).tolist() == [14, 13, 12]
    selection.extend_to(MODEL, 0, 12)
    assert selection.ordered_rows(MODEL, 15).tolist() == [15, 14]


def test_a_range_without_a_beginning_begins_at_the_current_case(selection):
    selection.extend_to(MODEL, 2, 15)
    assert selection.ordered_rows(MODEL, 13).tolist() == [15, 14, 13]


def test_select_all_and_none(selection):
    selection.select_all(MODEL)
    assert selection.ordered_rows(MODEL, 10).tolist() == [15, 14, 13, 12, 11, 10]
    assert all(row in selection for row in (10, 15))
    assert 16 not in selection
    selection.select_only(11)
    assert 10 not in selection
    assert selection.ordered_rows(MODEL, 11).tolist() == [11]


def test_what_is_not_shown_any_more_is_forgotten(selection):
    selection.select_all(MODEL)
    selection.remove_missing(CaseModel(COLUMNS, np.array([1, 3])))
    assert selection.rows.tolist() == [11, 13]


def test_a_case_that_another_list_does_not_show_is_not_taken_over(selection):
    other = CaseModel(COLUMNS, np.array([4, 0]))
    assert other.contains(np.array([10, 12, 14, 99])).tolist() == [True, False, True, False]
    assert CaseModel().contains(np.array([10])).tolist() == [False]
