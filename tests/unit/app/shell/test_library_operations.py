"""Reading the open library again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.state import WindowState
from semblance.core.imaging.region import Region
from semblance.core.library.case_columns import ImageAvailability
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.libraries import make_library
from tests.helpers.scored_snapshots import metric


@pytest.fixture
def context(context, tmp_path):
    context.state.set_library(read_snapshot(make_library(tmp_path / "one")))
    return context


def test_callbacks_run_once_even_if_a_later_refresh_replaces_theirs(context, jobs):
    done = []
    library_operations.renew(context, lambda: done.append("first"))
    library_operations.renew(context)
    library_operations.renew(context, lambda: done.append("second"))
    jobs.run_pending()
    assert done == ["first", "second"]
    library_operations.renew(context)
    jobs.run_pending()
    assert done == ["first", "second"], "once each"


def test_nothing_of_it_happens_to_another_library(context, jobs, tmp_path):
    done = []
    library_operations.renew(context, lambda: done.append("first"))
    context.state.set_library(read_snapshot(make_library(tmp_path / "two")))
    library_operations.renew(context, lambda: done.append("second"))
    jobs.run_pending()
    assert done == ["second"]


def test_opening_a_library_with_images_that_were_not_compared_offers_to_detect_groups(
    context, jobs, tmp_path
):
    path = make_library(tmp_path / "earlier")
    with Library.open(path) as library:
        library.thumbnails.put([("c0", b"an image"), ("c1", b"another")])
    triggered = []
    context.actions["detect_lesions"].triggered.connect(lambda: triggered.append(True))
    library_operations.open_library(context, path)
    jobs.run_pending()
    (message,) = [one for one in context.messages.history if "not compared" in one.what]
    assert message.what.startswith("2 images were not compared with the others yet")
    ((text, detect),) = message.actions
    assert text == "Detect same-lesion groups"
    detect()
    assert triggered


def test_the_only_case_of_a_library_has_none_to_be_compared_with(context, jobs, tmp_path):
    path = make_library(tmp_path / "single", cases=1)
    with Library.open(path) as library:
        library.thumbnails.put([("c0", b"an image")])
    library_operations.open_library(context, path)
    jobs.run_pending()
    assert context.state.library is not None
    assert not [one for one in context.messages.history if "not compared" in one.what]


def open_again(context, jobs, path):
    """Leave the library and open it: the query it opens with."""
    library_operations.close_library(context)
    jobs.run_pending()
    library_operations.open_library(context, path)
    jobs.run_pending()
    return context.state.query


def test_a_library_opens_with_its_last_query_else_with_the_first_held_out_case(context, jobs, tmp_path):
    path = make_library(tmp_path / "new", cases=4)
    assert open_again(context, jobs, path) == Query(case="s/0.png"), "without a metric the first case"
    context.state.set_query(Query(case="s/2.png", region=Region(1, 1, 8, 8)))
    assert open_again(context, jobs, path) == Query(case="s/2.png", region=Region(1, 1, 8, 8))
    context.state.set_query(Query(image=tmp_path / "deleted since.png"))
    assert open_again(context, jobs, path) == Query(case="s/0.png")
    assert "deleted since.png is not there any more" in context.messages.history[-1].hint
    # The metric was trained on the first two cases, and the image of the third is gone.
    library = context.state.library
    trained = replace(metric("good", 0.9), training=library.columns.case_row[:2])
    library.columns.state[2] = ImageAvailability.MISSING
    context.state.set_library(replace(library, metrics=(trained,), current_metric="good"))
    search_operations.submit_first_query(context)
    assert context.state.query == Query(case="s/3.png")


def test_the_last_query_of_a_read_only_library_is_remembered_for_the_user_without_its_id(
    context, jobs, tmp_path, monkeypatch
):
    monkeypatch.setattr(WindowState, "can_write", property(lambda _state: False))
    path = make_library(tmp_path / "read-only", cases=4)
    outside = tmp_path / "outside.png"
    outside.write_bytes(b"an image")
    for query, again in (
        (Query(case="s/2.png"), Query(case="s/2.png")),
        (Query(image=outside), Query(image=outside)),
        (Query(image=tmp_path / "gone.png"), Query(case="s/0.png")),
    ):
        open_again(context, jobs, path)
        context.state.set_query(query)
        monkeypatch.setattr(search_operations.view_images, "check_file", lambda _path, **_: None)
        assert open_again(context, jobs, path) == again
    row = int(context.state.columns.case_row[2])
    context.settings.remember_query(path, str(row))
    assert "s/2" not in context.settings.last_query(path)
    context.settings.forget_libraries()
    assert open_again(context, jobs, path) == Query(case="s/0.png")
