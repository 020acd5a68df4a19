from __future__ import annotations

import os
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import saved_searches
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.images import striped_folder
from tests.helpers.ranked_searches import ranked
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def library(tmp_path):
    """60 rows of 30 patients, two metrics."""
    return table_library(tmp_path, metrics=(PLAIN, TrainRequest("pca", "other", settings={"components": 2})))


def _search(library, metric="plain"):
    return Search(metric, Query(case=open_metric(library, metric).cases.id_of(1)), new_ledger())


def _judge(library, search, *cases):
    ledger = open_metric(library, search.metric).ledger(search.ledger)
    ledger.add([Judgement(JudgementKind.ALIKE, search.query.case, case) for case in cases])


def _execute(library, statement, *values):
    close_loaded_metrics()
    with sqlite3.connect(library / CATALOGUE) as connection:
        connection.execute(statement, values)
    connection.close()


def _forget_case(library, case):
    _execute(library, "DELETE FROM cases WHERE case_id = ?", case)


def test_a_search_comes_back_whole(library):
    search = replace(_search(library), strength=0.7, group_duplicates=False)
    _judge(library, search, ranked(rank_cases(library, search, k=50))[40])
    ranked_search = rank_cases(library, search, k=200)
    view = {"zoom": [2.5, 3.25, 4.125], "scroll": 17}
    saved_searches.save(library, "mine", saved_searches.search_record(search, ranked_search, view))
    found = saved_searches.reopen(library, "mine")
    assert (found.search, found.view, found.notes, found.is_current, found.is_complete) == (
        search,
        view,
        (),
        True,
        True,
    )
    assert found.ranked_search.result.ranked == ranked_search.result.ranked
    assert found.ranked_search.entries == ranked_search.entries
    (line,) = saved_searches.saved_searches(library)
    assert (line.name, line.query, line.metric, line.judged) == ("mine", search.query.case, "plain", 1)
    assert line.case_row == open_metric(library, "plain").cases.row_of(search.query.case)


def test_a_branch_has_judgements_of_its_own(library):
    search = _search(library)
    cases = ranked(rank_cases(library, search, k=50))
    _judge(library, search, cases[30])
    state = saved_searches.search_record(search, rank_cases(library, search, k=200), {})
    saved_searches.save(library, "stem", state)
    other = saved_searches.branch(library, "branch", state)
    assert other.ledger != search.ledger
    assert replace(other, ledger=search.ledger) == search
    close_loaded_metrics()
    _judge(library, other, cases[31], cases[32])
    judged = {line.name: line.judged for line in saved_searches.saved_searches(library)}
    assert judged == {"stem": 1, "branch": 3}
    with pytest.raises(BadArguments):
        saved_searches.branch(library, "branch", state)


def test_a_split_ledger_leaves_the_first_one_unchanged(library):
    search = _search(library)
    _judge(library, search, ranked(rank_cases(library, search))[3])
    saved_searches.split_ledger(library, search.ledger, "copy")
    close_loaded_metrics()
    _judge(library, replace(search, ledger="copy"), ranked(rank_cases(library, search))[5])
    assert len(open_metric(library, "plain").ledger(search.ledger).entries) == 1
    assert len(open_metric(library, "plain").ledger("copy").entries) == 2


def test_every_change_is_saved_under_its_name_too(library):
    search = _search(library)
    saved_searches.save(library, "mine", saved_searches.search_record(search, None, {}))
    changed = replace(search, strength=0.25)
    saved_searches.save_current(library, saved_searches.search_record(changed, None, {"scroll": 5}, "mine"))
    assert saved_searches.reopen(library, "mine").search == changed
    assert saved_searches.reopen(library, "(last)").search == changed
    saved_searches.delete(library, "mine")
    saved_searches.save_current(library, saved_searches.search_record(search, None, {}, "mine"))
    assert saved_searches.saved_searches(library) == []


def test_saving_searches_does_not_reopen_the_metric(library):
    search = _search(library)
    loaded = open_metric(library, "plain")
    saved_searches.save_current(
        library, saved_searches.search_record(search, rank_cases(library, search), {"scroll": 1})
    )
    saved_searches.save(library, "x", saved_searches.search_record(search, None, {}))
    saved_searches.rename(library, "x", "y")
    saved_searches.restore(library, saved_searches.delete(library, "y"))
    assert open_metric(library, "plain") is loaded


def test_a_ranking_that_would_differ_is_shown_as_saved(library):
    search = _search(library)
    ranked_search = rank_cases(library, search, k=200)
    state = saved_searches.search_record(search, ranked_search, {})
    stored = state["seen"]["ranked"]
    stored[0], stored[30] = stored[30], stored[0]
    saved_searches.save(library, "mine", state)
    found = saved_searches.reopen(library, "mine")
    assert [case.case_id for case in found.ranked_search.result.ranked] == [case for case, _, _ in stored]
    assert not found.is_current
    assert "1 of the first 20 cases would be different ones" in " ".join(found.notes)
    stored[0], stored[30] = stored[30], stored[0]
    stored[0], stored[1] = stored[1], stored[0]
    saved_searches.save(library, "swapped", state)
    assert "another order" in " ".join(saved_searches.reopen(library, "swapped").notes)


def test_deleted_ranked_and_judged_cases_are_reported(library):
    search = _search(library)
    cases = ranked(rank_cases(library, search, k=200))
    _judge(library, search, cases[4], cases[9])
    ranked_search = rank_cases(library, search, k=200)
    saved_searches.save(library, "mine", saved_searches.search_record(search, ranked_search, {}))
    _forget_case(library, cases[4])
    found = saved_searches.reopen(library, "mine")
    words = " ".join(found.notes)
    assert "1 mark refers to cases that no longer exist" in words
    assert "1 ranked case no longer exists" in words
    assert cases[4] not in ranked(found.ranked_search)
    assert len(found.ranked_search.result.ranked) == len(ranked_search.result.ranked) - 1


def test_a_metric_that_is_missing_is_reported_and_another_ranks(library):
    search = _search(library)
    saved_searches.save(
        library, "mine", saved_searches.search_record(search, rank_cases(library, search), {})
    )
    _execute(library, "DELETE FROM metrics WHERE name = ?", "plain")
    found = saved_searches.reopen(library, "mine")
    assert "The metric 'plain' no longer exists. 'other' ranks instead." in found.notes
    assert found.search.metric == "other"
    assert found.ranked_search.result.metric == "other"
    assert not found.is_complete
    _execute(library, "DELETE FROM metrics")
    found = saved_searches.reopen(library, "mine")
    assert (found.ranked_search, found.search.metric) == (None, "")


def test_the_last_search_is_incomplete_once_its_metric_is_deleted(library):
    assert saved_searches.last_search(library) is None
    saved_searches.save_current(
        library, saved_searches.search_record(_search(library, "other"), None, {"scroll": 3}, "mine")
    )
    found = saved_searches.last_search(library)
    assert (found.name, found.search.metric, found.view, found.notes) == ("mine", "other", {"scroll": 3}, ())
    assert (found.is_complete, found.is_current, found.ranked_search) == (True, True, None)
    _execute(library, "DELETE FROM metrics WHERE name = 'other'")
    found = saved_searches.last_search(library)
    assert (found.search.metric, found.is_complete) == ("plain", False)
    assert "'other' no longer exists" in found.notes[0]
    with Library.open(library) as opened:
        opened.save_last_search({"query": 5})
    assert saved_searches.last_search(library) is None


def test_a_search_without_a_metric_lacks_none(library):
    search = replace(_search(library), metric="")
    saved_searches.save_current(library, saved_searches.search_record(search, None, {}))
    assert saved_searches.last_search(library).notes == ()


def test_a_query_that_is_missing_is_reported(library):
    search = _search(library)
    saved_searches.save(
        library, "mine", saved_searches.search_record(search, rank_cases(library, search), {})
    )
    _forget_case(library, search.query.case)
    found = saved_searches.reopen(library, "mine")
    assert any("its query, no longer exists" in words for words in found.notes)
    assert (found.search.query, found.ranked_search, found.is_complete) == (Query(), None, False)
    (line,) = saved_searches.saved_searches(library)
    assert (line.case_row, line.query) == (-1, search.query.case)


def test_an_image_from_outside_has_a_thumbnail_and_its_ranking_outlives_it(tmp_path):
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "images", n=12), library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    path = tmp_path / "mine.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(path)
    search = Search("plain", Query(image=path), new_ledger())
    ranked_search = rank_cases(library, search, k=200)
    saved_searches.save(library, "outside", saved_searches.search_record(search, ranked_search, {}))
    (line,) = saved_searches.saved_searches(library)
    assert line.query == "mine.png"
    assert len(line.thumbnail) > 100
    assert saved_searches.reopen(library, "outside").is_current
    saved_searches.save_current(library, saved_searches.search_record(search, ranked_search, {}, "outside"))
    assert saved_searches.last_search(library).ranked_search is None, "it is searched again"
    path.unlink()
    again = saved_searches.last_search(library)
    assert (again.name, again.is_complete) == ("outside", True)
    assert ranked(again.ranked_search) == ranked(ranked_search)
    found = saved_searches.reopen(library, "outside")
    assert again.notes == found.notes
    words = " ".join(found.notes)
    assert words.count(path.name) == 1
    assert "is not there any more" in words
    assert "saved one" in words
    assert ranked(found.ranked_search) == ranked(ranked_search)
    assert not found.is_current


@pytest.mark.parametrize(
    "query",
    [5, {"case_id": "c0", "region": {"kind": "?"}}, {"image": [1]}],
    ids=["number", "region", "image"],
)
def test_no_search_and_a_damaged_one_are_refused_and_listed(library, query):
    with pytest.raises(BadArguments):
        saved_searches.reopen(library, "none")
    with Library.open(library) as opened:
        opened.save_search("odd", {"query": query, "seen": {"ranked": []}})
    with pytest.raises(BadInput, match="cannot be read"):
        saved_searches.reopen(library, "odd")
    assert [line.query for line in saved_searches.saved_searches(library)] == ["cannot be read"]


def test_a_read_only_library_is_read_and_not_written(library, monkeypatch):
    search = _search(library)
    saved_searches.save(library, "mine", saved_searches.search_record(search, None, {}))
    close_loaded_metrics()
    real = os.access
    # The tests may be run by one who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    saved_searches.save_current(library, saved_searches.search_record(search, None, {"scroll": 2}, "mine"))
    found = saved_searches.reopen(library, "mine")
    assert (found.search, found.view) == (search, {})
    with pytest.raises(SemblanceError):
        saved_searches.save(library, "another", saved_searches.search_record(search, None, {}))
