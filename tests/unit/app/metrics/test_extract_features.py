from __future__ import annotations

import pytest

from semblance.app.metrics.extract_dialog import extract
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.striped_library import striped_library


@pytest.fixture
def opened(tmp_path_factory, context):
    library = striped_library(tmp_path_factory.mktemp("extract"), n=6, features="pixels", metrics=())
    context.state.set_library(read_snapshot(library))
    return library


def cancellations(context):
    return [one for one in context.messages.history if "was cancelled" in one.what]


def test_a_cancelled_extraction_is_reported_and_can_be_resumed(qtbot, opened, context, jobs):
    extract(context, "gabor").cancel()
    qtbot.waitUntil(lambda: bool(cancellations(context)))
    (message,) = cancellations(context)
    assert "gabor" in message.what
    assert "stay measured" in message.hint
    ((text, resume),) = message.actions
    assert text == "Resume"
    resume()
    jobs.run_pending()
    assert "gabor" in {one.name for one in context.state.library.feature_sets}


def test_an_extraction_that_another_replaces_is_not_offered_again(qapp, opened, context, jobs):
    extract(context, "gabor")
    extract(context, "colour_edge_texture")
    qapp.processEvents()
    jobs.run_pending()
    qapp.processEvents()
    assert cancellations(context) == []
