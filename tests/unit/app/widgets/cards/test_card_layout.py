from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint

from semblance.app.widgets.cards.card_layout import LARGEST, NO_PLACE, SMALLEST, CardLayout

layouts = st.builds(
    lambda width, count, rows: CardLayout.list(width, count) if rows else CardLayout.cards(width, count),
    st.integers(60, 2500),
    st.integers(1, 200_000),
    st.booleans(),
)


@given(layouts, st.data())
def test_the_middle_of_a_card_is_that_card(layout: CardLayout, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, layout.count - 1))
    card = layout.card(place)
    assert layout.place_at(card.center()) == place
    assert place in layout.places_between(card.top(), card.bottom())
    assert card.bottom() < layout.height
    assert SMALLEST <= layout.image_side <= LARGEST or layout.rows


@given(layouts)
def test_cards_do_not_overlap_and_stay_in_their_width(layout: CardLayout) -> None:
    if layout.columns > 1 and layout.count > layout.columns:
        first, second, below = (layout.card(place) for place in (0, 1, layout.columns))
        assert first.right() < second.left()
        assert first.bottom() < below.top()
        assert layout.card(layout.columns - 1).right() < layout.width


@pytest.mark.parametrize(("width", "columns"), [(325, 3), (400, 4), (550, 5)])
def test_a_narrow_panel_has_more_columns_rather_than_larger_images(width: int, columns: int) -> None:
    assert CardLayout.cards(width, 100).columns == columns


def test_a_little_less_space_makes_images_smaller_before_the_ten_nearest_need_scrolling() -> None:
    assert [CardLayout.cards(width, 100).columns for width in (480, 490, 530)] == [4, 5, 5]
    assert CardLayout.cards(490, 100).image_side == 85


def test_between_cards_there_is_nothing() -> None:
    layout = CardLayout.cards(550, 7)
    assert layout.place_at(QPoint(0, 0)) == NO_PLACE
    assert layout.place_at(layout.card(6).center() + QPoint(layout.image_side + 12, 0)) == NO_PLACE
    assert layout.place_at(QPoint(100, 100_000)) == NO_PLACE


@pytest.mark.parametrize(
    ("place", "columns", "lines", "page", "target"),
    [
        (0, 1, 0, 0, 1),
        (0, -1, 0, 0, 0),
        (1, 0, 1, 0, 6),
        (1, 0, -1, 0, 1),
        (9, 0, 1, 0, 11),
        (11, 0, 1, 0, 11),
        (11, 1, 0, 0, 11),
        (0, 0, 0, 2, 10),
        (1, 0, 0, 9, 11),
        (11, 0, 0, -9, 1),
        (-1, 0, 1, 0, 0),
    ],
)
def test_arrow_keys_move_in_display_directions(
    place: int, columns: int, lines: int, page: int, target: int
) -> None:
    layout = CardLayout.cards(550, 12)
    assert layout.columns == 5
    assert layout.place_after_move(place, columns, lines, page) == target


def test_in_an_empty_grid_there_is_nowhere_to_go() -> None:
    assert CardLayout.cards(550, 0).place_after_move(-1, 1, 0, 0) == NO_PLACE


def test_fewer_columns_have_larger_images_in_the_same_width() -> None:
    usual, two = CardLayout.cards(340, 2), CardLayout.cards(340, 2, most_columns=2)
    assert (usual.columns, two.columns) == (3, 2)
    assert two.image_side > usual.image_side
    assert two.card(1).right() < 340
