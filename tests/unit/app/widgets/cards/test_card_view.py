from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from semblance.app.widgets.cards import card_view
from semblance.app.widgets.cards.card_view import LONGEST_MS, MAX_CARDS, CardAnimation
from semblance.app.widgets.cards.case_model import CaseModel


@pytest.fixture
def animated(monkeypatch):
    """As on a screen whose system wants things to move."""
    monkeypatch.setattr(card_view, "system_duration", lambda: 200)


def turned(model: CaseModel) -> CaseModel:
    """The same cases, the first ones the other way round."""
    order = model.order.copy()
    order[:8] = order[:8][::-1]
    return CaseModel(model.columns, order, model.distances)


def test_cards_go_from_where_they_were_to_where_they_belong(qtbot, animated):
    motion = CardAnimation()
    with qtbot.waitSignal(motion.ended):
        motion.start({1: (QPoint(0, 0), QPoint(100, 50)), 2: (QPoint(5, 5), QPoint(5, 5))})
        assert motion.places == [1]
        assert motion._timeline.duration() == LONGEST_MS
        assert motion.position(1) == QPoint(0, 0)
        assert motion.position(2) is None
    assert motion.places == []
    assert motion.position(1) is None


def test_a_new_order_replaces_one_still_under_way(animated):
    motion = CardAnimation()
    motion.start({1: (QPoint(0, 0), QPoint(100, 50))})
    motion.start({4: (QPoint(0, 0), QPoint(7, 0))})
    assert motion.places == [4]
    motion.stop()
    assert motion.places == []


def test_too_many_cards_or_disabled_system_animations_are_not_animated(animated, monkeypatch):
    motion = CardAnimation()
    motion.start({n: (QPoint(0, 0), QPoint(1, 1)) for n in range(MAX_CARDS + 1)})
    assert motion.places == []
    monkeypatch.setattr(card_view, "system_duration", lambda: 0)
    motion.start({1: (QPoint(0, 0), QPoint(100, 50))})
    assert motion.places == []


def test_tests_and_images_of_the_window_show_cards_at_rest(qapp):
    assert card_view.system_duration() == 0


def test_the_grid_is_animated_only_on_request(grid, animated):
    model = grid.model()
    grid.set_model(turned(model))
    assert grid._animation.places == []
    grid.set_model(model, animate=True)
    assert sorted(grid._animation.places) == list(range(8))
    start = grid._animation.position(7)
    assert start == grid.card_rect(0).topLeft()
    assert not grid.viewport().grab().isNull()


def test_a_card_that_leaves_fades_out(grid, animated):
    model = grid.model()
    order = np.roll(model.order, -1)
    grid.set_model(CaseModel(model.columns, order, model.distances), animate=True)
    assert 39 in grid._animation.places
    assert grid._animation._paths[39][1].y() == grid.viewport().height()


def test_scrolling_ends_it(grid, animated):
    grid.set_model(turned(grid.model()), animate=True)
    assert grid._animation.places
    grid.verticalScrollBar().setValue(40)
    assert grid._animation.places == []


def test_when_the_current_case_leaves_the_one_in_its_place_becomes_current(qtbot, grid):
    grid.set_current(1)
    model = grid.model()
    with qtbot.waitSignal(grid.current_changed) as signal:
        grid.set_model(CaseModel(model.columns, np.roll(model.order, -1), model.distances), animate=True)
    assert signal.args == [2]
    assert grid.current_place() == 0
    grid.set_model(model, animate=True)
    assert grid.current() == 2
    assert grid.current_place() == 1


@pytest.mark.parametrize("key", [Qt.Key.Key_Right, Qt.Key.Key_End])
def test_keys_work_while_cards_are_animated(qtbot, grid, animated, key):
    grid.set_current(1)
    grid.set_model(turned(grid.model()), animate=True)
    before = grid.current_place()
    qtbot.keyClick(grid, key)
    assert grid.current_place() > before
