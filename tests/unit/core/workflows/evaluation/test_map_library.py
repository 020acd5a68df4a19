from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.tasks import Cancelled
from semblance.core.workflows.evaluation import map_library as mapping
from semblance.core.workflows.evaluation.map_library import map_library
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import open_metric
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """60 rows: one metric with coordinates, one without."""
    return table_library(tmp_path_factory.mktemp("map"), metrics=(PLAIN, TrainRequest("l1", "city block")))


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "first"), [("plain", "principal axes"), ("city block", "landmarks")])
def test_a_map_is_there_at_once_and_grows(library, monkeypatch, metric, first):
    monkeypatch.setattr(mapping, "UPDATE_S", 0.0)
    reporter = RecordingReporter()
    found = map_library(library, metric, reporter=reporter)
    assert [one.kind for one in reporter.partials[:2]] == [first, "neighbours"]
    assert reporter.partials[0].share > 0
    assert reporter.partials[1].growing
    assert [one.done for one in reporter.partials] == list(range(751))
    assert (found.kind, found.done, found.total, found.growing) == ("neighbours", 750, 750, False)
    assert found.rows.tolist() == open_metric(library, metric).rows.tolist()
    assert found.places.shape == (60, 2)
    assert np.isfinite(found.places).all()
    assert found.preserved > 0.4


@pytest.mark.slow
def test_the_same_library_gives_the_same_map(library):
    one, two = (map_library(library, "plain") for _ in range(2))
    assert np.array_equal(one.places, two.places)


def test_stopped_early_it_returns_the_rounds_so_far(library):
    found = map_library(library, "plain", reporter=RecordingReporter(stop_after=2))
    assert found.kind == "neighbours"
    assert 0 < found.done < 750
    assert not found.growing
    assert found.preserved is not None


def test_it_can_be_cancelled(library):
    with pytest.raises(Cancelled):
        map_library(library, "plain", reporter=RecordingReporter(cancel_after=2))


def test_no_metric_and_too_few_cases_are_reported(library, tmp_path):
    with pytest.raises(BadArguments):
        map_library(library, "none")
    loaded = open_metric(library, "plain")
    loaded.rows = loaded.rows[:2]
    with pytest.raises(BadInput, match="at least 3"):
        map_library(library, "plain")
