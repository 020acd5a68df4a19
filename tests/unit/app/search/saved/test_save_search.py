"""The search of a library is saved when another library is opened."""

from __future__ import annotations

import shutil

import pytest

from semblance.app.search.saved import save_search
from semblance.app.search.saved.save_search import SearchAutosave
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.tables import PLAIN, table_library


def test_saving_in_another_library_does_not_cancel_the_first(context, tmp_path):
    library = table_library(tmp_path / "table", n=20, metrics=(PLAIN,))
    other = shutil.copytree(library, tmp_path / "other.semblance")
    autosave = SearchAutosave(context, dict)
    for path, case in ((library, "t/c1"), (other, "t/c2")):
        context.state.set_library(read_snapshot(path))
        context.state.set_query(Query(case))
        autosave.save_now()
    context.jobs.run_pending()
    for path, case in ((library, "t/c1"), (other, "t/c2")):
        with open_library(path) as opened:
            assert Search.from_json(opened.load_last_search()).query.case == case


@pytest.fixture
def searching(context, tmp_path):
    library = table_library(tmp_path / "table", n=20, metrics=(PLAIN,))
    context.state.set_library(read_snapshot(library))
    context.state.set_query(Query("t/c1"))
    return context.state


@pytest.mark.parametrize("act", [save_search.save, save_search.branch])
def test_a_name_is_not_given_to_a_query_that_is_searched_with_meanwhile(context, searching, act):
    act(context, "mine")
    searching.set_query(Query("t/c2"))
    ledger = searching.ledger
    context.jobs.run_pending()
    assert (searching.search_name, searching.ledger) == ("", ledger)
    assert context.messages.history[-1].what == "Saved as 'mine'."


def test_leaving_a_named_search_does_not_cancel_what_saves_it(context, searching):
    autosave = SearchAutosave(context, dict)
    save_search.save(context, "mine")
    context.jobs.run_pending()
    searching.set_note("t/c3", "like the query")
    autosave.save_now()
    searching.set_query(Query("t/c2"))
    autosave.save_now()
    context.jobs.run_pending()
    with open_library(searching.location) as opened:
        saved = Search.from_json(opened.load_search("mine"))
    assert (saved.query.case, dict(saved.notes)) == ("t/c1", {"t/c3": "like the query"})


def test_a_name_changed_in_another_library_stays(context, searching, tmp_path):
    other = shutil.copytree(searching.location, tmp_path / "other.semblance")
    save_search.save(context, "mine")
    context.jobs.run_pending()
    save_search.rename(context, "mine", "ours")
    searching.set_library(read_snapshot(other))
    searching.set_query(Query("t/c1"))
    searching.set_search_name("mine")
    context.jobs.run_pending()
    assert searching.search_name == "mine"
