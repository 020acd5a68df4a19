"""Concepts through the calls a window makes, with how well they can be separated."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.library import Library
from semblance.core.searches.feedback.concept_direction import REACH, direction
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.feedback import concepts
from semblance.core.workflows.searches.feedback.refinement_session import open_refinement
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.libraries import raw
from tests.helpers.ranked_searches import ranked


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


def search_for(metric="plain", case="t/c0", **more) -> Search:
    return Search(metric, Query(case=case), "mine", **more)


def order_by_hand(session, vector, left_out, open=0.0) -> list[str]:
    """All cases by their distance to ``vector`` but ``left_out`` and cases of their patients."""
    apart = session.coordinates - vector
    squared = session.space.start().opened(open).squared(apart)
    # What the metric cannot tell apart is in the order of all features alike.
    places = np.lexsort(((apart**2).sum(axis=1), squared))
    patients = {session.loaded.patient_of_case(case) for case in left_out}
    order = [session.case_at(place) for place in places]
    return [case for case in order if session.loaded.patient_of_case(case) not in patients]


def mark(library, metric="plain", name="high", with_=(), without=()) -> int:
    made = concepts.add_concept(library, metric, name)
    key = made[-1].id
    concepts.mark_cases(library, metric, key, [(c, True) for c in with_] + [(c, False) for c in without])
    return key


HIGH, LOW = ("t/c2", "t/c6", "t/c10", "t/c14"), ("t/c4", "t/c8", "t/c12", "t/c16")


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_a_concept_moves_the_query_along_its_direction(table, metric):
    mark(table, metric, "high", HIGH, LOW)
    session = open_refinement(table, metric)
    points = np.stack([session.coordinates[session.position_of(case)] for case in (*HIGH, *LOW)])
    along = direction(points, np.arange(8) < 4)
    reach = REACH * (session.coordinates @ along).std()
    for amount in (-1.0, 0.4, 1.0):
        # Nothing is left out by a metric that learnt nothing.
        open = 0.0 if metric == "plain" else abs(amount)
        vector = session.coordinates[session.position_of("t/c0")] + amount * reach * along
        ranked_search = rank_cases(table, search_for(metric, concepts=(("high", amount),)), k=30)
        assert ranked(ranked_search) == order_by_hand(session, vector, ["t/c0"], open)[:30]
        assert ranked_search.left_out == ()


def test_the_slider_brings_cases_with_the_concept_forward(table):
    mark(table, with_=HIGH, without=LOW)
    with Library.open(table, writable=False) as opened:
        finding = {r.case_id: r.finding for r in opened.catalogue.all_cases()}
    shares = {}
    for case, amount in (("t/c0", 0.0), ("t/c0", 1.0), ("t/c3", 0.0), ("t/c3", -1.0)):
        near = ranked(rank_cases(table, search_for(case=case, concepts=(("high", amount),)), k=10))
        shares[case, amount] = np.mean([finding[case] == "kind 1" for case in near])
    assert shares["t/c0", 0.0] < shares["t/c0", 1.0]
    assert shares["t/c3", 0.0] > shares["t/c3", -1.0]


def test_a_mark_more_changes_the_direction_at_once(table):
    key = mark(table, with_=HIGH, without=LOW)
    search = search_for(concepts=(("high", 1.0),))
    before = rank_cases(table, search, k=30)
    concepts.mark_cases(table, "plain", key, [("t/c18", False), ("t/c22", False), ("t/c2", None)])
    after = rank_cases(table, search, k=30)
    assert [line.distance for line in before.result.ranked] != [line.distance for line in after.result.ranked]


def test_a_deleted_or_one_sided_concept_is_left_out_and_reported(table):
    key = mark(table, with_=HIGH, without=LOW)
    mark(table, name="half", with_=HIGH)
    session = open_refinement(table, "plain")
    plain = order_by_hand(session, session.query_vector(Query("t/c0")), ["t/c0"])
    concepts.delete_concept(table, "plain", key)
    ranked_search = rank_cases(table, search_for(concepts=(("high", 1.0), ("half", 1.0))), k=20)
    assert ranked(ranked_search) == plain[:20]
    assert ranked_search.left_out == (
        "The concept 'high' no longer exists.",
        "The concept 'half' needs cases with it and without it.",
    )
    concepts.restore_concept(table, "plain", key)
    assert rank_cases(table, search_for(concepts=(("high", 1.0),)), k=20).left_out == ()


def test_a_metric_without_coordinates_is_queried_without_them(table):
    mark(table, "city", with_=HIGH, without=LOW)
    ranked_search = rank_cases(table, search_for("city", concepts=(("high", 1.0),)), k=20)
    assert ranked_search.refused is not None
    assert "no coordinates" in ranked_search.refused.message
    assert ranked(ranked_search) == ranked(rank_cases(table, search_for("city"), k=20))
