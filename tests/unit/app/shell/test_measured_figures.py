"""What is measured is stored with its case, or stays until the window closes, and goes with the search."""

from __future__ import annotations

import pytest

from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.measurements import Figure
from semblance.core.library.annotations import Annotation
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.imaging.library_cache import close_libraries
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.contexts import make_context
from tests.helpers.libraries import make_library
from tests.helpers.prompt_jobs import PromptJobs

LINE, OTHER = (Figure("line", ((0.0, 0.0), (end, 4.0))) for end in (3.0, 8.0))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return make_library(tmp_path_factory.mktemp("figures") / "l")


@pytest.fixture
def context(qtbot, private_home, library):
    jobs = PromptJobs()
    context = make_context(jobs)
    context.state.set_library(read_snapshot(library))
    yield context
    close_libraries()
    jobs.shutdown()


def test_figures_of_a_case_are_stored_one_change_after_the_other(context, qtbot):
    figures, location = context.figures, context.state.location
    source = (location, int(context.state.columns.case_row[0]))
    case = context.state.columns.ids[0]
    assert figures.read(source, ()) == ()
    changed = []
    figures.changed.connect(changed.append)
    figures.set(source, (LINE,))
    # Another one is drawn before the first is stored; meanwhile another person adds a third.
    figures.set(source, (LINE, OTHER))
    with Library.open(location) as library:
        library.annotations.replace(case, [Annotation("probe", {"points": [[1, 1]]})])
    qtbot.waitUntil(lambda: len(figures.of(source)) == 3)
    assert changed == [source] * len(changed)
    with Library.open(location) as library:
        assert [one.kind for one in library.annotations.of_case(case)] == ["probe", "line", "line"]
    # Opened again it is read from the library.
    assert figures.read(source, (LINE,)) == (LINE,)


def test_in_a_library_that_cannot_be_written_they_stay_here_and_it_is_said_once(context):
    context.state.server_problem = "gone"
    figures, rows = context.figures, context.state.columns.case_row
    sources = [(context.state.location, int(row)) for row in rows[:2]]
    for source in sources:
        figures.set(source, (LINE,))
    assert [figures.read(source, ()) for source in sources] == [(LINE,)] * 2
    (message,) = context.messages.history
    assert "until Semblance is closed" in message.what


def test_those_of_a_query_from_outside_are_saved_with_its_search_and_come_back(context, tmp_path):
    state, figures = context.state, context.figures
    image = tmp_path / "outside.png"
    source = (state.location, ImageAddress(image))
    state.set_query(Query(image=image))
    figures.set(source, (LINE,))
    assert state.measured == (LINE,)
    saved = Search.from_json(Search("m", Query(image=image), measured=state._search.measured).to_json())
    # Another query, and back: this session knows them.
    state.set_query(Query(case=state.columns.ids[0]))
    assert state.measured == ()
    state.set_query(Query(image=image))
    assert state.measured == (LINE,)
    # Another session has them from the saved search.
    figures._figures.clear()
    state.restore_search(saved)
    assert figures.of(source) == (LINE,)
