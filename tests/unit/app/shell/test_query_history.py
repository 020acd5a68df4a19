from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from semblance.app.shell.query_history import MOST
from semblance.app.shell.state import WindowState
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from tests.helpers.scored_snapshots import metric, snapshot


@pytest.fixture
def state(qtbot):
    made = WindowState()
    made.set_library(snapshot(metric("good", 0.9), metric("other", 0.8)))
    return made


def shown(state):
    """What the history brings back."""
    noted = state.note("c001"), state._search.in_report, state.measured
    return state.query, state.match, state.ledger, noted


def test_back_and_forward_as_in_a_browser_whatever_else_is_done(state):
    """A model of lists is driven with the same random steps."""
    rng, past, place = random.Random(7), [], -1
    for step in range(600):
        act = rng.choice(
            [
                "case",
                "file",
                "region",
                "note",
                "report",
                "measure",
                "back",
                "forward",
                "metric",
                "again",
                "option",
            ]
        )
        if act in ("case", "file") or not past:
            number = rng.randrange(8)
            query = Query(image=Path(f"/f{number}.png")) if act == "file" else Query(case=f"c{number:03}")
            state.set_query(query)
            if not past or (query.case, query.image) != (past[place][0].case, past[place][0].image):
                past, place = [*past[: place + 1], None][-MOST:], min(place + 1, MOST - 1)
            past[place] = shown(state)
        elif act == "region":
            state.set_region(Region(rng.randrange(1, 9), 2, 8, 8))
            past[place] = shown(state)
        elif act == "note":
            state.set_note("c001", f"note {step}")
            past[place] = shown(state)
        elif act == "report":
            state.set_in_report(f"c{rng.randrange(3):03}", rng.random() < 0.7)
            past[place] = shown(state)
        elif act == "measure":
            state.set_measured([Figure("length", ((0.0, 0.0), (float(step), 0.0)))])
            past[place] = shown(state)
        elif act == "metric":
            state.set_metric(rng.choice(["good", "other"]))
        elif act == "option":
            state.change_search(hide_same_patient=not state.hide_same_patient)
        elif act == "again":
            state.set_query(state.query)
        elif state.history.can_go(by := -1 if act == "back" else 1):
            before = state.metric.name, state.options
            state.go_to_query(place + by)
            place += by
            # The metric and the options stay, and the order of the query before is not shown.
            assert (state.metric.name, state.options) == before and state.search.metric == before[0]
            assert state.ranking is None and state.awaits_ranking
        else:
            assert place + by in (-1, len(past))
        assert (len(state.history.entries), state.history.place) == (len(past), place)
        assert shown(state) == past[place]


def test_a_saved_search_is_left_with_its_ledger_and_goes_on_in_a_copy(state):
    state.set_query(Query(case="c001"))
    own = state.ledger
    saved = replace(state._search, query=Query(case="c002"), ledger="of the saved one")
    state.restore_search(saved)
    state.set_search_name("saved")
    assert not state.go_to_query(0)
    assert (state.ledger, state.search_name) == (own, "")
    # Its marks come back, but it is told that they are those of a saved search.
    assert state.go_to_query(1)
    assert (state.ledger, state.search_name) == ("of the saved one", "")


def test_removed_cases_and_other_libraries_are_forgotten(state):
    for case in ("c001", "c150", "c001", "c002"):
        state.set_query(Query(case=case))
    state.renew_library(snapshot(metric("good", 0.9), cases=100))
    assert [entry.search.query.case for entry in state.history.entries] == ["c001", "c002"]
    assert state.history.place == 1
    state.set_library(snapshot(metric("good", 0.9)))
    assert (state.history.entries, state.history.place) == ([], -1)
