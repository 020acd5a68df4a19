from __future__ import annotations

import pytest

from semblance.app.search.saved.save_search import save
from semblance.app.search.saved.searches_panel import SearchesPanel
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searches")
    return [table_library(folder / name, n=20, metrics=(PLAIN,)) for name in ("one", "two")]


def test_searches_are_read_only_while_they_are_shown_and_are_those_of_the_open_library(
    qtbot, context, jobs, libraries
):
    state = context.state
    panel = SearchesPanel(context, ThumbnailLoader(lambda _rows, done: done([])))
    qtbot.addWidget(panel)
    state.set_library(read_snapshot(libraries[0]))
    state.set_query(Query("t/c1"))
    save(context, "first")
    jobs.run_pending()
    assert state.search_name == "first"
    assert (panel.names(), jobs.active) == ([], [])
    panel.show()
    jobs.run_pending()
    assert panel.names() == ["first"]
    panel.hide()
    state.set_library(read_snapshot(libraries[1]))
    assert panel.names() == []
    panel.show()
    jobs.run_pending()
    assert panel.names() == []
