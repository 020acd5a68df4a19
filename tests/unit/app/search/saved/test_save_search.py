"""The search of a library is saved when another library is opened."""

from __future__ import annotations

import shutil

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
