from __future__ import annotations

import pytest

from semblance.app.metrics.train_ticked_learner import train_ticked_learner
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def messages(context, jobs, tmp_path) -> list:
    """The messages of a window on a library with the metric "plain"."""
    library = table_library(tmp_path, n=60, metrics=(PLAIN,))
    context.state.set_library(read_snapshot(library))
    shown: list = []
    context.messages.shown.connect(shown.append)
    return shown


def train(context, jobs, request: TrainRequest) -> None:
    train_ticked_learner(context, request)
    jobs.run_pending()


def test_a_metric_that_is_not_better_is_offered_and_not_used(context, jobs, messages):
    train(context, jobs, TrainRequest("euclidean", "again"))
    assert context.state.metric.name == "plain"
    (message,) = [one for one in messages if one.actions]
    assert message.what.startswith("again: 0.")
    assert message.what.endswith("Kept.")
    assert "the same settings as plain" in message.hint
    assert read_snapshot(context.state.location).current_metric == "plain"
    ((text, use),) = message.actions
    assert text == "Use again"
    use()
    assert context.state.metric.name == "again"


def test_a_better_metric_becomes_the_current_one(context, jobs, messages):
    train(context, jobs, TrainRequest("lda", "learned"))
    assert context.state.metric.name == "learned"
    assert not [one for one in messages if one.actions]
