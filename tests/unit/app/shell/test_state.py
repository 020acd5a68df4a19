from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from semblance.app.shell.actions import available
from semblance.app.shell.state import Change, TrainingRun, WindowState
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.library.library_snapshot import FeatureSetFacts
from semblance.core.workflows.searches.search_result import SearchResult
from tests.helpers.ranked_searches import unrefined_search
from tests.helpers.scored_snapshots import metric, snapshot

PART = Region(1, 2, 8, 8)
RANKING = SearchResult(Query(case="c000"), "good", (), 99, 0, 0, {}, False, None)
SETS = (FeatureSetFacts("gabor", "gabor", 2560, 100, 0), FeatureSetFacts("raw", "raw", 4, 100, 0))


@pytest.fixture
def state(qapp) -> WindowState:
    return WindowState()


@pytest.fixture
def changed_names(state) -> list[str]:
    """What each change consists of, as it comes."""
    names: list[str] = []
    changes = (
        Change.LIBRARY,
        Change.CASES,
        Change.METRIC,
        Change.QUERY,
        Change.RANKING,
        Change.TRAINING,
        Change.SEARCH,
        Change.OPTIONS,
    )
    state.changed.connect(lambda change: names.extend(one.name.lower() for one in changes if change & one))
    return names


def test_the_newest_metric_and_its_features_are_current_at_first(state, changed_names):
    state.set_library(replace(snapshot(metric("old", 0.6), metric("good", 0.9)), feature_sets=SETS[::-1]))
    assert state.metric.name == "good"
    assert state.features == "gabor"
    assert sorted(changed_names) == sorted(
        {"library", "cases", "metric", "query", "search", "ranking", "training"}
    )


def test_without_a_metric_the_first_feature_set_is_current(state):
    state.set_library(replace(snapshot(), feature_sets=SETS[::-1]))
    assert state.features == "raw"
    assert state.metric is None


def test_nothing_of_a_library_outlives_it(state):
    state.set_library(snapshot(metric("good", 0.9)))
    state.set_query(Query(case="c000"))
    state.set_ranked_search(unrefined_search(RANKING))
    state.set_training(TrainingRun("good", "bdm", None))
    state.set_library(None)
    assert (state.metric, state.query, state.ranking, state.training, state.features) == (None,) * 4 + ("",)
    assert state.location is None
    assert len(state.columns) == 0
    assert available(state) == set()


def test_a_newer_snapshot_keeps_the_query_and_the_selection(state, changed_names):
    state.set_library(snapshot(metric("old", 0.6), metric("good", 0.9)))
    state.set_query(Query(case="c000"))
    state.set_ranked_search(unrefined_search(RANKING))
    state.set_metric("old")
    changed_names.clear()
    state.renew_library(snapshot(metric("old", 0.7), metric("good", 0.9), metric("best", 0.95)))
    assert state.metric.name == "old"
    assert state.ranking is RANKING
    assert changed_names == ["cases", "metric"]


def test_a_deleted_metric_is_replaced_by_another(state):
    state.set_library(snapshot(metric("old", 0.6), metric("good", 0.9)))
    state.renew_library(snapshot(metric("old", 0.6)))
    assert state.metric.name == "old"


def test_choosing_the_same_or_an_unknown_metric_changes_nothing(state, changed_names):
    state.set_metric("good")
    state.set_library(snapshot(metric("good", 0.9)))
    changed_names.clear()
    state.set_metric("good")
    state.set_metric("no such metric")
    state.set_features("gabor")
    assert changed_names == []


def test_a_region_belongs_to_a_query(state, changed_names):
    state.set_region(PART)
    assert state.query is None
    state.set_query(Query(case="c000"))
    state.set_region(PART)
    assert state.query == Query(case="c000", region=PART)
    changed_names.clear()
    state.set_region(PART)
    assert changed_names == []


def test_what_commands_need_follows_what_is_there(state):
    state.set_library(replace(snapshot(), feature_sets=()))
    assert available(state) == {"library", "writable", "editable"}
    state.set_library(snapshot(metric("unscored", None)))
    assert available(state) == {
        "library",
        "writable",
        "editable",
        "features",
        "metric",
        "can score",
        "can add concepts",
    }
    state.set_library(snapshot(metric("good", 0.9)))
    state.set_query(Query(case="c000"))
    state.set_ranked_search(unrefined_search(RANKING))
    state.set_training(TrainingRun("more", "bdm", 9))
    assert {"scores", "query", "ranking", "training"} < available(state)
    state.set_training(TrainingRun("more", "bdm", 9, running=False))
    assert "training" not in available(state)


def test_a_read_only_library_allows_no_change(state):
    state.set_library(snapshot(metric("good", 0.9), writable=False))
    assert available(state) == {"library", "metric", "scores"}


def test_an_annotator_judges_and_saves_searches_but_edits_and_trains_nothing(state):
    state.set_library(replace(snapshot(metric("good", 0.9)), right="annotator"))
    state.set_query(Query(case="c000"))
    state.set_ranked_search(unrefined_search(RANKING))
    assert {"writable", "can judge", "can save search", "can add concepts"} < available(state)
    assert not {"editable", "features", "can score", "edits", "can save metric"} & available(state)
    assert (state.why_not_written, bool(state.why_not_edited)) == ("", True)


def test_the_shown_ranking_can_be_saved_and_reopened(state):
    state.set_library(snapshot(metric("old", 0.6), metric("good", 0.9)))
    state.set_metric("old")
    state.set_query(Query(image=Path("outside.png"), region=PART))
    state.change_search(group_duplicates=False)
    state.change_search(without=("shape",), strength=0.5)
    record, search = state.search_record(), state.search
    state.set_library(snapshot(metric("old", 0.6), metric("good", 0.9)))
    assert state.search is None
    assert not state.group_duplicates
    state.restore_search(Search.from_json(record))
    assert state.search == search
    assert state.metric.name == "old"


def test_a_saved_search_without_its_metric_uses_another(state):
    state.set_library(snapshot(metric("good", 0.9)))
    state.restore_search(Search("gone", Query(case="c000"), "mine"))
    assert state.search == Search("good", Query(case="c000"), "mine")


def test_every_library_begins_with_a_ledger_of_its_own(state):
    ledgers = {state.ledger}
    for _ in range(3):
        state.set_library(snapshot(metric("good", 0.9)))
        ledgers.add(state.ledger)
    assert len(ledgers) == 4


def test_given_marks_belong_to_their_query_but_judgements_to_the_search(state):
    state.set_library(snapshot(metric("good", 0.9)))
    state.set_query(Query(case="c000"))
    state.change_search(like=("c001",), concepts=(("round", 0.5),))
    ledger = state.ledger
    state.set_region(PART)
    assert state.search.like == ("c001",)
    state.set_query(Query(case="c002"))
    assert state.search.like == ()
    assert state.search.concepts == (("round", 0.5),)
    assert state.ledger == ledger


def test_only_differences_are_reported(state, changed_names):
    state.change_search(strength=0.5)
    state.change_search(strength=0.5)
    assert changed_names == ["search"]
    changed_names.clear()
    state.change_search(hide_same_patient=False)
    state.change_search(hide_same_patient=False)
    assert changed_names == ["search", "options"]


def test_what_is_hidden_follows_changes_once_when_it_is_shown(state, qtbot):
    page, followed = QWidget(), []
    qtbot.addWidget(page)
    state.on_change_while_shown(Change.METRIC, page, lambda: followed.append(state.features))
    for features in ("raw", "gabor"):
        state.set_features(features)
    assert followed == []
    page.show()
    assert followed == ["gabor"]
    page.hide()
    page.show()
    assert followed == ["gabor"]
    state.set_features("raw")
    assert followed == ["gabor", "raw"]
