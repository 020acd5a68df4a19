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
from semblance.core.searches.judgement import Judgement, Kind
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.workflows.features.extracting import extract_features
from semblance.core.workflows.library.importing import import_source
from semblance.core.workflows.library.opening import LAST
from semblance.core.workflows.metrics.train_metric import TrainRequest, train_metric
from semblance.core.workflows.searches import keeping
from semblance.core.workflows.searches.asking import ask
from semblance.core.workflows.searches.desk import close_desks, desk_for
from tests.helpers.asked import ranked
from tests.helpers.images import striped_folder
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def library(tmp_path):
    """60 rows of 30 patients, two metrics."""
    return table_library(tmp_path, metrics=(PLAIN, TrainRequest("pca", "other", settings={"components": 2})))


def _search(library, metric="plain"):
    return Search(metric, Query(case=desk_for(library, metric).case_ids[1]), new_ledger())


def _judge(library, search, *cases):
    ledger = desk_for(library, search.metric).ledger(search.ledger)
    ledger.add([Judgement(Kind.ALIKE, search.query.case, case) for case in cases])


def _execute(library, statement, *values):
    close_desks()
    with sqlite3.connect(library / CATALOGUE) as connection:
        connection.execute(statement, values)
    connection.close()


def _forget_case(library, case):
    _execute(library, "DELETE FROM cases WHERE case_id = ?", case)


def test_a_search_comes_back_whole(library):
    search = replace(_search(library), strength=0.7, fold_duplicates=False)
    _judge(library, search, ranked(ask(library, search, k=50))[40])
    asked = ask(library, search, k=200)
    view = {"zoom": [2.5, 3.25, 4.125], "scroll": 17}
    keeping.save(library, "mine", keeping.record(search, asked, view))
    found = keeping.reopen(library, "mine")
    assert (found.search, found.view, found.told, found.fresh, found.whole) == (search, view, (), True, True)
    assert found.asked.result.ranked == asked.result.ranked
    assert found.asked.entries == asked.entries
    (line,) = keeping.saved_searches(library)
    assert (line.name, line.query, line.metric, line.judged) == ("mine", search.query.case, "plain", 1)
    assert line.case_row == desk_for(library, "plain").row_of(search.query.case)


def test_a_branch_has_judgements_of_its_own(library):
    search = _search(library)
    cases = ranked(ask(library, search, k=50))
    _judge(library, search, cases[30])
    state = keeping.record(search, ask(library, search, k=200), {})
    keeping.save(library, "stem", state)
    other = keeping.branch(library, "branch", state)
    assert other.ledger != search.ledger
    assert replace(other, ledger=search.ledger) == search
    close_desks()
    _judge(library, other, cases[31], cases[32])
    judged = {line.name: line.judged for line in keeping.saved_searches(library)}
    assert judged == {"stem": 1, "branch": 3}
    with pytest.raises(BadArguments):
        keeping.branch(library, "branch", state)


def test_going_on_with_another_query_leaves_the_judgements_behind(library):
    search = _search(library)
    _judge(library, search, ranked(ask(library, search))[3])
    keeping.part_with(library, search.ledger, "copy")
    close_desks()
    _judge(library, replace(search, ledger="copy"), ranked(ask(library, search))[5])
    assert len(desk_for(library, "plain").ledger(search.ledger).entries) == 1
    assert len(desk_for(library, "plain").ledger("copy").entries) == 2


def test_what_is_kept_at_every_change_is_kept_under_its_name_too(library):
    search = _search(library)
    keeping.save(library, "mine", keeping.record(search, None, {}))
    changed = replace(search, strength=0.25)
    keeping.keep(library, keeping.record(changed, None, {"scroll": 5}, "mine"))
    assert keeping.reopen(library, "mine").search == changed
    assert keeping.reopen(library, LAST).search == changed
    keeping.delete(library, "mine")
    keeping.keep(library, keeping.record(search, None, {}, "mine"))
    assert keeping.saved_searches(library) == []


def test_keeping_does_not_make_the_asking_process_lay_out_the_library_anew(library):
    search = _search(library)
    desk = desk_for(library, "plain")
    keeping.keep(library, keeping.record(search, ask(library, search), {"scroll": 1}))
    keeping.save(library, "x", keeping.record(search, None, {}))
    keeping.rename(library, "x", "y")
    keeping.undelete(library, keeping.delete(library, "y"))
    assert desk_for(library, "plain") is desk


def test_a_ranking_that_would_differ_is_shown_as_it_was_seen(library):
    search = _search(library)
    asked = ask(library, search, k=200)
    state = keeping.record(search, asked, {})
    seen = state["seen"]["ranked"]
    seen[0], seen[30] = seen[30], seen[0]
    keeping.save(library, "mine", state)
    found = keeping.reopen(library, "mine")
    assert [case.case_id for case in found.asked.result.ranked] == [case for case, _, _ in seen]
    assert not found.fresh
    assert "1 of the first 20 would be others" in " ".join(found.told)
    seen[0], seen[30] = seen[30], seen[0]
    seen[0], seen[1] = seen[1], seen[0]
    keeping.save(library, "swapped", state)
    assert "another order" in " ".join(keeping.reopen(library, "swapped").told)


def test_ranked_and_judged_cases_that_are_gone_are_told(library):
    search = _search(library)
    cases = ranked(ask(library, search, k=200))
    _judge(library, search, cases[4], cases[9])
    asked = ask(library, search, k=200)
    keeping.save(library, "mine", keeping.record(search, asked, {}))
    _forget_case(library, cases[4])
    found = keeping.reopen(library, "mine")
    words = " ".join(found.told)
    assert "1 judgement speaks of cases that are gone" in words
    assert "1 ranked case is gone since" in words
    assert cases[4] not in ranked(found.asked)
    assert len(found.asked.result.ranked) == len(asked.result.ranked) - 1


def test_a_metric_that_is_gone_is_told_and_another_ranks(library):
    search = _search(library)
    keeping.save(library, "mine", keeping.record(search, ask(library, search), {}))
    _execute(library, "DELETE FROM metrics WHERE name = ?", "plain")
    found = keeping.reopen(library, "mine")
    assert "The metric 'plain' is gone. 'other' ranks instead." in found.told
    assert found.search.metric == "other"
    assert found.asked.result.metric == "other"
    assert not found.whole
    _execute(library, "DELETE FROM metrics")
    found = keeping.reopen(library, "mine")
    assert (found.asked, found.search.metric) == (None, "")


def test_what_was_seen_last_is_not_taken_for_what_it_no_longer_is(library):
    assert keeping.last(library) is None
    keeping.keep(library, keeping.record(_search(library, "other"), None, {"scroll": 3}, "mine"))
    found = keeping.last(library)
    assert (found.name, found.search.metric, found.view, found.told) == ("mine", "other", {"scroll": 3}, ())
    assert (found.whole, found.fresh, found.asked) == (True, True, None)
    _execute(library, "DELETE FROM metrics WHERE name = 'other'")
    found = keeping.last(library)
    assert (found.search.metric, found.whole) == ("plain", False)
    assert "'other' is gone" in found.told[0]
    with Library.open(library) as opened:
        opened.save_search(LAST, {"query": 5})
    assert keeping.last(library) is None


def test_a_query_that_is_gone_is_told(library):
    search = _search(library)
    keeping.save(library, "mine", keeping.record(search, ask(library, search), {}))
    _forget_case(library, search.query.case)
    found = keeping.reopen(library, "mine")
    assert any("its query, is gone" in words for words in found.told)
    assert (found.search.query, found.asked, found.whole) == (Query(), None, False)
    (line,) = keeping.saved_searches(library)
    assert (line.case_row, line.query) == (-1, search.query.case)


def test_a_image_from_outside_has_a_thumbnail_and_its_ranking_outlives_it(tmp_path):
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "images", n=12), library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    path = tmp_path / "mine.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(path)
    search = Search("plain", Query(image=path), new_ledger())
    asked = ask(library, search, k=200)
    keeping.save(library, "outside", keeping.record(search, asked, {}))
    (line,) = keeping.saved_searches(library)
    assert line.query == "mine.png"
    assert len(line.thumbnail) > 100
    assert keeping.reopen(library, "outside").fresh
    keeping.keep(library, keeping.record(search, asked, {}, "outside"))
    assert keeping.last(library).asked is None, "it is asked again"
    path.unlink()
    again = keeping.last(library)
    assert (again.name, again.whole) == ("outside", True)
    assert ranked(again.asked) == ranked(asked)
    found = keeping.reopen(library, "outside")
    assert again.told == found.told
    words = " ".join(found.told)
    assert words.count(path.name) == 1
    assert "is not there any more" in words
    assert "seen then" in words
    assert ranked(found.asked) == ranked(asked)
    assert not found.fresh


def test_no_search_and_a_damaged_one_are_refused_and_listed(library):
    with pytest.raises(BadArguments):
        keeping.reopen(library, "none")
    with Library.open(library) as opened:
        opened.save_search("odd", {"query": 5, "seen": {"ranked": [1]}})
    with pytest.raises(BadInput, match="cannot be read"):
        keeping.reopen(library, "odd")
    assert [line.query for line in keeping.saved_searches(library)] == ["cannot be read"]


def test_a_library_for_looking_only_is_read_and_left_alone(library, monkeypatch):
    search = _search(library)
    keeping.save(library, "mine", keeping.record(search, None, {}))
    close_desks()
    real = os.access
    # The tests may be run by one who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    keeping.keep(library, keeping.record(search, None, {"scroll": 2}, "mine"))
    found = keeping.reopen(library, "mine")
    assert (found.search, found.view) == (search, {})
    with pytest.raises(SemblanceError):
        keeping.save(library, "another", keeping.record(search, None, {}))
