"""Concepts through the calls a window makes, with how well they can be separated."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.workflows.searches import concepts
from semblance.core.workflows.searches.open_metrics import open_metric
from tests.helpers.libraries import raw


@pytest.fixture
def table(eighty):
    return eighty


def marks(has: bool, *rows: int) -> list[tuple[str, bool]]:
    return [(f"t/c{row}", has) for row in rows]


def test_a_concept_is_made_marked_and_measured(table):
    (one,) = concepts.add_concept(table, "plain", "high", author="ann")
    assert (one.name, one.author, one.moves, one.strength) == ("high", "ann", False, None)
    assert "3 with and 3 without of different patients" in one.why or not one.with_
    made = marks(True, 2, 6, 10, 14) + marks(False, 4, 8, 12, 16)
    (one,) = concepts.mark_cases(table, "plain", one.id, made, author="bob")
    assert one.with_ == ("t/c2", "t/c6", "t/c10", "t/c14")
    assert one.without == ("t/c4", "t/c8", "t/c12", "t/c16")
    assert one.moves
    assert one.strength.auc > 0.8
    assert (one.strength.with_, one.strength.without, one.strength.patients) == (4, 4, 8)
    assert one.why == ""


def test_too_few_marks_move_but_are_not_measured(table):
    (one,) = concepts.add_concept(table, "plain", "high")
    (one,) = concepts.mark_cases(table, "plain", one.id, marks(True, 2, 3, 6) + marks(False, 4, 8, 12))
    assert one.moves
    assert one.strength is None
    assert one.why == "Not enough marks to measure: 3 with and 3 without of different patients."


def test_names_change_and_what_is_deleted_comes_back(table):
    (one,) = concepts.add_concept(table, "plain", "high")
    assert [c.name for c in concepts.rename_concept(table, "plain", one.id, "tall")] == ["tall"]
    assert concepts.delete_concept(table, "plain", one.id) == ()
    assert [c.name for c in concepts.restore_concept(table, "plain", one.id)] == ["tall"]
    with pytest.raises(BadInput, match="already"):
        concepts.add_concept(table, "plain", "Tall")
    with pytest.raises(BadArguments):
        concepts.mark_cases(table, "plain", 99, marks(True, 1))
    assert [c.name for c in concepts.concepts(table, None)] == ["tall"]


def test_a_deleted_marked_case_is_counted(table):
    (one,) = concepts.add_concept(table, "plain", "high")
    concepts.mark_cases(table, "plain", one.id, marks(True, 2, 6, 10) + marks(False, 4, 8, 12))
    with raw(table) as connection:
        connection.execute("UPDATE cases SET case_id='t/other' WHERE case_id='t/c2'")
    (one,) = concepts.concepts(table, "plain")
    assert one.gone == 1
    assert one.strength is None
    assert one.moves


def test_a_metric_without_coordinates_says_why(table):
    (one,) = concepts.add_concept(table, "city", "high")
    (one,) = concepts.mark_cases(table, "city", one.id, marks(True, 2) + marks(False, 4))
    assert not one.moves
    assert "no coordinates" in one.why


def test_marks_do_not_rebuild_the_index(table):
    loaded = open_metric(table, "plain")
    (one,) = concepts.add_concept(table, "plain", "high")
    concepts.mark_cases(table, "plain", one.id, marks(True, 2))
    assert open_metric(table, "plain") is loaded
