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
