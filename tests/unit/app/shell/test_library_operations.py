"""Reading the open library again."""

from __future__ import annotations

import pytest

from semblance.app.shell import library_operations
from semblance.core.library.library import Library
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.libraries import make_library


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
