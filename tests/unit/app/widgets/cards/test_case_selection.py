from __future__ import annotations

import numpy as np
import pytest

from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.cards.case_selection import NONE, Selection
from semblance.core.library.case_columns import case_columns

N = 6
COLUMNS = case_columns(range(10, 10 + N), list("abcdef"), [None] * N, [None] * N, [0] * N)
#: Shown back to front: rows 15, 14, ... 10.
MODEL = CaseModel(COLUMNS, np.arange(N)[::-1])


@pytest.fixture
def selection() -> Selection:
    return Selection()


def test_alone_the_current_case_is_chosen(selection):
    assert selection.ordered_rows(MODEL, NONE) == []
    assert selection.ordered_rows(MODEL, 12) == [12]


def test_what_is_added_comes_in_the_order_shown(selection):
    selection.toggle(11, 13)
    selection.toggle(14, 11)
    assert selection.ordered_rows(MODEL, 14) == [14, 13, 11]
    selection.toggle(13, 14)
    assert selection.ordered_rows(MODEL, 13) == [14, 11]


def test_a_range_goes_on_from_where_it_began(selection):
    selection.select_only(14)
    selection.extend_to(MODEL, 3, 14)
    assert selection.ordered_rows(MODEL, 12) == [14, 13, 12]
    selection.extend_to(MODEL, 0, 12)
    assert selection.ordered_rows(MODEL, 15) == [15, 14]


def test_a_range_without_a_beginning_begins_at_the_current_case(selection):
    selection.extend_to(MODEL, 2, 15)
    assert selection.ordered_rows(MODEL, 13) == [15, 14, 13]


def test_select_all_and_none(selection):
    selection.select_all(MODEL)
    assert selection.ordered_rows(MODEL, 10) == [15, 14, 13, 12, 11, 10]
    assert selection.select_only(10)
    assert not selection.select_only(11)
    assert selection.ordered_rows(MODEL, 11) == [11]


def test_what_is_not_shown_any_more_is_forgotten(selection):
    selection.select_all(MODEL)
    selection.remove_missing(CaseModel(COLUMNS, np.array([1, 3])))
    assert selection.rows == {11, 13}
