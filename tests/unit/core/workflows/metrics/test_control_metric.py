from __future__ import annotations

import pytest

from semblance.core.evaluation.shuffled_control import stored_control
from semblance.core.library.library import Library
from semblance.core.workflows.metrics import control_metric
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import table_library

BITS = TrainRequest("bdm", "bits", settings={"rounds": 10})


@pytest.fixture
def library(tmp_path):
    return table_library(tmp_path, n=120)


def test_a_metric_trained_on_shuffled_findings_is_at_chance(library):
    scores = train_metric(library, BITS).scores
    control = stored_control(scores)
    assert scores["retrieval_accuracy"]["mean"][9] > 0.9
    assert control.is_near_chance
    assert control.accuracy < 0.7
    assert (control.n_train, control.n_queries) == (scores["n_train"], scores["n_test"])
    assert control.chance == pytest.approx(0.5, abs=0.08)


def test_a_control_whose_findings_reach_the_training_is_above_chance(library, monkeypatch):
    monkeypatch.setattr(control_metric, "shuffled_by_unit", lambda values, _units, _rng: values)
    assert not stored_control(train_metric(library, BITS).scores).is_near_chance


def test_the_control_of_many_cases_is_trained_on_a_sample(library, monkeypatch):
    monkeypatch.setattr(control_metric, "MOST_TRAINING", 30)
    monkeypatch.setattr(control_metric, "MOST_QUERIES", 10)
    control = stored_control(train_metric(library, BITS).scores)
    assert control.n_train <= 30
    assert control.n_queries <= 10


def test_no_control_where_findings_are_not_learnt_or_none_is_wanted(library):
    for request in (TrainRequest("euclidean", "plain"), TrainRequest("bdm", "bits", control=False)):
        assert train_metric(library, request).scores["shuffled_control"] is None


def test_the_control_stays_when_the_metric_is_scored_again(library):
    control = train_metric(library, BITS).scores["shuffled_control"]
    score_metric(library, "bits")
    with Library.open(library) as opened:
        assert opened.metric("bits").scores["shuffled_control"] == control
