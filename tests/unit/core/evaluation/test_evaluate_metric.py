"""Scores of a frozen metric: held-out cases only, intervals, and a JSON that comes back the same."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation import evaluate_metric as evaluation
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import builtin_table
from semblance.core.evaluation.evaluate_metric import (
    MetricScores,
    accuracy_after_steps,
    held_out_queries,
    query_limit,
    sampled_queries,
    score_rankings,
)
from semblance.core.evaluation.search_rankings import Gallery, search_rankings
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


def evaluate_metric(metric, data, train, test, *, max_k=50, seed=0, **options):
    queries = held_out_queries(data, train, test, seed)
    rankings = search_rankings(Gallery.of(metric, data), queries, max_k)
    return score_rankings(rankings, data, train, test, seed=seed, **options)


def scored_rows(data, train, test):
    metric = fit_metric(make_learner("euclidean"), data.X[train], data.y[train])
    return evaluate_metric(metric, data, train, test)


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
    assert scores.mean_auc > 0.97
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
    distances = metric.distances(data.X[split.test], data.X)
    total = 0.0
    for place, query in enumerate(split.test):
        others = [row for row in range(data.n_cases) if data.groups[row] != data.groups[query]]
        nearest = sorted(others, key=lambda row: distances[place, row])[:3]
        total += sum(data.y[row] == data.y[query] for row in nearest) / 3
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
    assert scores.mean_auc is None
    assert scores.roc == {}
    assert scores.retrieval_accuracy.at(1)[0] == 1.0
    json.dumps(scores.to_json(), allow_nan=False)


def test_a_finding_that_no_other_case_has_is_never_found():
    data = builtin_table("iris")
    y = data.y.astype("<U10")
    y[149] = "rare"
    scores = scored_rows(replace(data, y=y), np.arange(0, 148, 2), np.arange(1, 150, 2))
    assert scores.by_finding["rare"].mean == 0.0
    assert scores.retrieval_accuracy.mean[0] < scores.ceiling[0] == pytest.approx(74 / 75)


def test_ceiling_and_chance_are_those_of_the_findings_sizes():
    """Three cases of a, five of b, one without a finding; the first of a and of b are of one patient."""
    X = np.arange(9.0)[:, None]
    y = np.array(["a", "a", "a", "b", "b", "b", "b", "b", ""])
    patients = np.array(["p", "", "", "p", "", "", "", "", ""])
    data = EvaluationData(X, y, patients)
    scores = scored_rows(data, np.array([4, 5]), np.array([1, 6]))
    # With a as query two others have it, with b four; the case without a finding is shown before wrong ones.
    reachable = [
        np.mean([min(k, same) / (min(k, same) + max(0, k - min(k, same) - 1)) for same in (2, 4)])
        for k in range(1, 9)
    ]
    assert scores.ceiling == pytest.approx(reachable)
    assert scores.chance == pytest.approx((2 / 7 + 4 / 7) / 2)
    of_patient = scored_rows(data, np.array([4, 5]), np.array([0, 3]))
    assert of_patient.chance == pytest.approx((2 / 6 + 4 / 6) / 2)


@pytest.mark.parametrize("n_test", [1, 2])
def test_scores_of_one_or_two_held_out_cases_are_valid_json(n_test):
    data = builtin_table("iris")
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)[:n_test]
    metric = fit_metric(make_learner("euclidean"), data.X[train], data.y[train])
    json.dumps(evaluate_metric(metric, data, train, test).to_json(), allow_nan=False)


def test_accuracy_after_steps_is_inside_the_rows():
    data = builtin_table("wine")
    split = hold_out(data.y.tolist(), None, 0)
    metric = fitted(data, split)
    findings = np.unique(data.y, return_inverse=True)[1][split.test]
    rows = metric.transform(data.X[split.test])
    distances = metric.distance.between(rows, rows)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :10]
    expected = np.mean(findings[nearest] == findings[:, np.newaxis])
    assert accuracy_after_steps(metric.distance, rows, findings, None, None) == pytest.approx(expected)


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
    assert scores.mean_auc == 1.0
    assert all(curve.ci95 is None for curve in scores.roc.values())
    assert scores.knn_accuracy.at(1) == (1.0, None, None)
    assert {(one.low, one.high) for one in scores.by_finding.values()} == {(None, None)}
    assert MetricScores.from_json(json.loads(json.dumps(scores.to_json()))) == scores


def test_of_many_held_out_cases_a_stated_sample_are_queries(monkeypatch):
    data = two_views(n_patients=400)
    everything = scored(data)
    monkeypatch.setattr(evaluation, "MOST", 100)
    monkeypatch.setattr(evaluation, "FEWEST", 100)
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


@pytest.mark.parametrize(
    ("n_cases", "queries"), [(0, 4_000), (50_000, 4_000), (100_000, 2_000), (200_000, 1_000), (10**7, 1_000)]
)
def test_fewer_queries_are_compared_with_more_cases(n_cases, queries):
    assert query_limit(n_cases) == queries


def test_many_held_out_cases_are_sampled_in_proportion_and_few_are_all_queries(monkeypatch):
    monkeypatch.setattr(evaluation, "MOST", 50)
    monkeypatch.setattr(evaluation, "FEWEST", 10)
    findings = np.repeat([0, 1], [90, 10])
    chosen = sampled_queries(findings, 100, seed=1)
    assert np.bincount(findings[chosen]).tolist() == [45, 5]
    assert (chosen == sampled_queries(findings, 100, seed=1)).all()
    assert (chosen != sampled_queries(findings, 100, seed=2)).any()
    assert sampled_queries(findings[:50], 100, seed=1).tolist() == list(range(50))
