"""Scores of a frozen metric: held-out cases only, intervals, and a JSON that comes back the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation import query_sample
from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.evaluate_metric import (
    MetricScores,
    accuracy_after_steps,
    accuracy_of_queries,
    evaluate_metric,
)
from semblance.core.evaluation.splits import hold_out
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.steps import parse_steps


def fitted(data, split, learner="euclidean", **parameters):
    return fit_metric(
        make_learner(learner, **parameters),
        data.X[split.train],
        data.y[split.train],
        steps=parse_steps("standardise"),
    )


def scored(data, seed=0, learner="euclidean", **options):
    split = hold_out(data.y.tolist(), data.groups, seed)
    return evaluate_metric(fitted(data, split, learner), data, split.train, split.test, **options)


def two_views(n_patients=60):
    rng = np.random.default_rng(0)
    y = np.repeat(rng.choice(["benign", "malignant"], n_patients), 2)
    X = rng.normal(size=(2 * n_patients, 3)) + (y == "malignant")[:, None]
    return EvaluationData(X, y, np.repeat([f"p{n}" for n in range(n_patients)], 2))


def test_wine_scores_high_with_intervals():
    scores = scored(builtin_table("wine"))
    mean, low, high = scores.retrieval_accuracy.at(10)
    assert 0.75 < low < mean < high <= 1.0
    assert scores.measured_on == "held-out cases, unknown patients"
    assert scores.n_train + scores.n_test == 178
    assert scores.auc > 0.97
    for curve in scores.roc.values():
        assert curve.auc == 1.0 or curve.ci95[0] < curve.auc < curve.ci95[1]
        assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(curve.auc)


def test_known_patients_are_reported_and_drawn_whole():
    data = two_views()
    scores = scored(data)
    assert scores.measured_on == "held-out patients"
    some = EvaluationData(data.X, data.y, np.array(["", *data.groups[1:]]))
    assert scored(some).measured_on == "held-out cases, unknown patients"


def test_the_curve_equals_a_loop_that_skips_the_same_patient():
    data = two_views(20)
    split = hold_out(data.y.tolist(), data.groups, 1)
    metric = fitted(data, split)
    scores = evaluate_metric(metric, data, split.train, split.test, max_k=3)
    distances = metric.distances(data.X[split.test], data.X[split.test])
    total = 0.0
    for place, query in enumerate(split.test):
        others = [n for n, row in enumerate(split.test) if data.groups[row] != data.groups[query]]
        nearest = sorted(others, key=lambda n: distances[place, n])[:3]
        total += sum(data.y[split.test[n]] == data.y[query] for n in nearest) / 3
    assert scores.retrieval_accuracy.mean[2] == pytest.approx(total / len(split.test))


@pytest.mark.parametrize("learner", ["euclidean", "bdm"])
def test_scores_round_trip_through_json(learner):
    scores = scored(builtin_table("iris"), learner=learner)
    text = json.dumps(scores.to_json(), allow_nan=False)
    assert MetricScores.from_json(json.loads(text)) == scores


@pytest.mark.parametrize(
    "change", [{"auc": "high"}, {"roc": []}, {"retrieval_accuracy": {"k": [1]}}, {"findings": None}]
)
def test_damaged_scores_are_refused(change):
    values = {**scored(builtin_table("iris")).to_json(), **change}
    with pytest.raises(BadInput, match="cannot be read"):
        MetricScores.from_json(values)
    with pytest.raises(BadInput, match="cannot be read"):
        MetricScores.from_json({})


def test_leakage_is_refused():
    data = two_views()
    split = hold_out(data.y.tolist(), data.groups, 0)
    metric = fitted(data, split)
    with pytest.raises(BadInput, match="A case is in the training part"):
        evaluate_metric(metric, data, split.train, np.append(split.test, split.train[0]))
    with pytest.raises(BadInput, match="of the patients"):
        evaluate_metric(metric, data, split.train[1:], np.sort(np.append(split.test, split.train[0])))
    with pytest.raises(BadInput, match="No case was held out"):
        evaluate_metric(metric, data, split.train, split.test[:0])


def test_one_finding_held_out_gives_no_roc():
    data = builtin_table("iris")
    train, test = np.arange(0, 150, 2), np.arange(1, 50, 2)
    split = hold_out(data.y.tolist(), None, 0)
    scores = evaluate_metric(fitted(data, split), data, train, test)
    assert scores.auc is None
    assert scores.roc == {}
    assert scores.retrieval_accuracy.at(1)[0] == 1.0
    json.dumps(scores.to_json(), allow_nan=False)


def test_test_finding_without_training_cases():
    data = builtin_table("iris")
    train, test = np.arange(0, 100, 2), np.arange(1, 150, 2)
    metric = fit_metric(make_learner("euclidean"), data.X[train], data.y[train])
    scores = evaluate_metric(metric, data, train, test)
    assert scores.roc["virginica"].auc == 0.5
    assert scores.knn_accuracy.at(1)[0] < 0.7


@pytest.mark.parametrize("n_test", [1, 2])
def test_tiny_held_out_parts(n_test):
    data = builtin_table("iris")
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)[:n_test]
    metric = fit_metric(make_learner("euclidean"), data.X[train], data.y[train])
    json.dumps(evaluate_metric(metric, data, train, test).to_json(), allow_nan=False)


def test_accuracy_after_steps():
    data = builtin_table("wine")
    split = hold_out(data.y.tolist(), None, 0)
    metric = fitted(data, split)
    findings = np.unique(data.y, return_inverse=True)[1][split.test]
    rows = metric.transform(data.X[split.test])
    scores = evaluate_metric(metric, data, split.train, split.test)
    live = accuracy_after_steps(metric.distance, rows, findings, None, None)
    assert live == pytest.approx(scores.retrieval_accuracy.at(10)[0])


def test_tied_vote_goes_to_the_nearer_cases():
    X = np.array([0.0, 0.1, 0.9, 1.0, 0.04, 0.96])[:, None]
    data = EvaluationData(X, np.array(["z", "z", "a", "a", "z", "a"]))
    metric = fit_metric(make_learner("euclidean"), X[:4], data.y[:4])
    scores = evaluate_metric(metric, data, np.arange(4), np.array([4, 5]), voters=4)
    assert scores.confusion == ((1, 0), (0, 1))


def test_equal_scores_have_no_interval():
    """Six cases separated without a mistake do not make an area of 1 certain."""
    X = np.arange(20.0)[:, None] + 100.0 * (np.arange(20) >= 10)[:, None]
    data = EvaluationData(X, np.repeat(["a", "b"], 10))
    scores = scored(data)
    assert scores.auc == 1.0
    assert all(curve.ci95 is None for curve in scores.roc.values())
    assert scores.knn_accuracy.at(1) == (1.0, None, None)
    assert {(one.low, one.high) for one in scores.by_finding.values()} == {(None, None)}
    assert MetricScores.from_json(json.loads(json.dumps(scores.to_json()))) == scores


def test_of_many_held_out_cases_a_stated_sample_are_queries(monkeypatch):
    data = two_views(n_patients=400)
    everything = scored(data)
    monkeypatch.setattr(query_sample, "MOST", 100)
    monkeypatch.setattr(query_sample, "FEWEST", 100)
    sample = scored(data)
    assert (everything.n_queries, everything.sampled_queries) == (240, None)
    assert (sample.n_test, sample.n_queries) == (240, 100)
    assert sum(one.n for one in sample.by_finding.values()) == np.sum(sample.confusion) == 100
    mean, low, high = sample.retrieval_accuracy.at(10)
    assert low < everything.retrieval_accuracy.at(10)[0] < high
    assert mean != everything.retrieval_accuracy.at(10)[0]
    stored = json.loads(json.dumps(sample.to_json()))
    assert stored["n_queries"] == 100
    assert MetricScores.from_json(stored) == sample
    del stored["n_queries"]
    assert MetricScores.from_json(stored).n_queries == 240


def test_accuracies_of_the_sampled_queries_have_the_mean_of_the_scores(monkeypatch):
    monkeypatch.setattr(query_sample, "MOST", 60)
    monkeypatch.setattr(query_sample, "FEWEST", 60)
    data = two_views(n_patients=400)
    split = hold_out(data.y.tolist(), data.groups, 0)
    metric = fitted(data, split)
    accuracy = accuracy_of_queries(metric, data, split.test, seed=3)
    scores = evaluate_metric(metric, data, split.train, split.test, seed=3)
    assert np.isfinite(accuracy).sum() == 60
    assert np.nanmean(accuracy) == pytest.approx(scores.retrieval_accuracy.at(10)[0])
