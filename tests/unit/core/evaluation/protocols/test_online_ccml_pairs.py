"""The protocols online, ccml and pairs against loops over cases and pairs, and what they promise."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.pairs import (
    BY_DISTANCE,
    BY_VOTES,
    PairSet,
    _levels,
    _marginal,
    _threshold,
    balanced_pairs,
)
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.splits import folds, halves
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import Cancelled, Reporter

STEPS = parse_steps("standardise")


def run(protocol, data, *learners, repeats=1, seed=0, **rest):
    specs = [one if isinstance(one, LearnerSpec) else LearnerSpec(one) for one in learners]
    return get_protocol(protocol).run(data, specs, steps=STEPS, repeats=repeats, seed=seed, **rest)


def blobs(n=60, findings="abc", seed=4, patients=False, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.choice(list(findings), n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += apart * np.searchsorted(list(findings), y)
    groups = np.array([f"p{row // 2}" for row in range(n)]) if patients else None
    return EvaluationData(X, y, groups)


def standardised(data, split):
    return (data.X - data.X[split.train].mean(axis=0)) / data.X[split.train].std(axis=0)


def squared(Z, a, b):
    return float(((Z[a] - Z[b]) ** 2).sum())


def vote(Z, y, query, gallery, k):
    """Credit of the majority of the k nearest."""
    nearest = sorted(gallery, key=lambda row: squared(Z, query, row))[:k]
    counts = {f: sum(y[row] == f for row in nearest) for f in set(y)}
    winners = [f for f in counts if counts[f] == max(counts.values())]
    return (y[query] in winners) / len(winners)


def errors(Z, y, queries, galleries, k):
    """Plain and balanced error."""
    right = [vote(Z, y, query, gallery, k) for query, gallery in zip(queries, galleries, strict=True)]
    per_finding = [
        np.mean([r for r, q in zip(right, queries, strict=True) if y[q] == f]) for f in set(y[queries])
    ]
    return 1 - np.mean(right), 1 - np.mean(per_finding)


def test_online_errors_are_those_of_loops_at_the_k_best_inside_the_training_half():
    data = blobs()
    result = run("online", data, "euclidean", seed=9).results[0]
    split = halves(data.y.tolist(), None, repeat_seed(9, 0))
    Z, y = standardised(data, split), data.y
    inside = [
        errors(Z, y, split.train, [[r for r in split.train if r != q] for q in split.train], k)
        for k in range(1, 26)
    ]
    outside = [errors(Z, y, split.test, [split.train] * len(split.test), k) for k in range(1, 26)]
    plain_k, balanced_k = (int(np.argmin([round(pair[side], 12) for pair in inside])) for side in (0, 1))
    score = {name: summary.mean for name, summary in result.scores.items()}
    assert score["chosen_k"] == plain_k + 1
    assert score["knn_error"] == pytest.approx(outside[plain_k][0])
    assert score["balanced_error"] == pytest.approx(outside[balanced_k][1])
    assert score["knn_error@5"] == pytest.approx(outside[4][0])
    assert score["balanced_error@10"] == pytest.approx(outside[9][1])
    assert score["knn_error_best_on_test"] == pytest.approx(min(pair[0] for pair in outside))
    assert score["balanced_error_best_on_test"] == pytest.approx(min(pair[1] for pair in outside))
    assert "predictive_loss" not in score
    assert result.curves["knn_error"].mean == pytest.approx([pair[0] for pair in outside])


def test_online_tells_what_happened_on_the_way():
    data = builtin_table("wine")
    result = run("online", data, LearnerSpec("passive_aggressive", {"passes": 30, "C": 0.1}), repeats=3)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))["results"][0]
    scores, curves = document["scores"], document["curves"]
    loss = curves["predictive_loss"]["mean"]
    assert loss[-1] == pytest.approx(scores["predictive_loss"]["mean"])
    assert loss[0] > loss[-1]
    assert 0 < scores["updates"]["mean"] <= 30 * 240
    low, high = scores["updates"]["ci95"]
    assert low < scores["updates"]["mean"] < high
    assert curves["effective_dimension"]["mean"][-1] == scores["effective_dimension"]["mean"]
    assert 1 <= scores["effective_dimension"]["mean"] <= 13
    assert len(loss) == len(curves["effective_dimension"]["mean"])


def test_ccml_rules_and_ndcg_are_those_of_loops():
    data = blobs(n=50)
    result = run("ccml", data, "euclidean", seed=3)
    assert result.split.rule == "10 folds"
    y = data.y
    totals = {"knn": [], "mean": [], "likelihood": [], "ndcg": []}
    for split in folds(y.tolist(), None, repeat_seed(3, 0), 10):
        Z = standardised(data, split)
        totals["knn"].append(errors(Z, y, split.test, [split.train] * len(split.test), 3)[0])
        mean, likelihood, gains = [], [], []
        for query in split.test:
            near = {
                f: sorted(squared(Z, query, row) for row in split.train if y[row] == f)[:3] for f in "abc"
            }
            by_mean = min("abc", key=lambda f: sum(near[f]) / len(near[f]))
            roots = [value**0.5 for f in "abc" for value in near[f]]
            share = {f: np.mean(y[split.train] == f) for f in "abc"}
            by_likelihood = max("abc", key=lambda f: -sum(near[f]) / (2 * np.var(roots)) + np.log(share[f]))
            mean.append(by_mean != y[query])
            likelihood.append(by_likelihood != y[query])
            order = sorted(split.train, key=lambda row: squared(Z, query, row))
            gain = sum((y[row] == y[query]) / np.log2(i + 2) for i, row in enumerate(order[:5]))
            gains.append(gain / sum(1 / np.log2(i + 2) for i in range(5)))
        totals["mean"].append(np.mean(mean))
        totals["likelihood"].append(np.mean(likelihood))
        totals["ndcg"].append(np.mean(gains))
    scores = result.results[0].scores
    assert scores["knn_error@3"].values == pytest.approx(totals["knn"])
    assert scores["ccknn_error@3"].values == pytest.approx(totals["mean"])
    assert scores["ccknn_likelihood_error@3"].values == pytest.approx(totals["likelihood"])
    assert scores["ndcg@5"].values == pytest.approx(totals["ndcg"])
    assert set(result.results[0].curves) == {"knn_error", "ccknn_error", "ndcg"}


def test_ccml_repeats_are_ten_folds_each():
    result = run("ccml", builtin_table("iris"), "euclidean", repeats=2)
    assert len(result.results[0].scores["knn_error"].values) == 20
    with pytest.raises(BadInput, match="too few cases"):
        run("ccml", blobs(n=8), "euclidean")


def test_few_relevant_cases_are_the_ideal_of_ndcg():
    y = np.array(["a"] * 30 + ["b"] * 11)
    X = np.random.default_rng(0).normal(size=(41, 2)) + 50 * (y == "b")[:, None]
    scores = run("ccml", EvaluationData(X, y), "euclidean").results[0].scores
    assert scores["ndcg@20"].mean == pytest.approx(1.0)


def test_pairs_are_different_true_of_both_kinds_and_of_two_patients():
    rng = np.random.default_rng(0)
    findings, patients = rng.integers(0, 3, 40), np.arange(40) // 2
    pairs = balanced_pairs(findings, patients, 100, 5)
    assert (pairs.i < pairs.j).all()
    assert len(set(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True))) == 200
    assert ((findings[pairs.i] == findings[pairs.j]) == pairs.same).all()
    assert (patients[pairs.i] != patients[pairs.j]).all()
    assert pairs.same.sum() == 100
    few = balanced_pairs(np.array([0, 0, 1]), np.arange(3), 100, 5)
    assert len(few.i) == 2
    for hopeless in ([0, 1, 2], [0, 0, 0]):
        with pytest.raises(BadInput, match="no pairs of one finding, or none of two"):
            balanced_pairs(np.array(hopeless), np.arange(3), 10, 5)


def test_the_threshold_makes_the_fewest_mistakes():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, same = rng.integers(0, 6, 12).astype(float), rng.random(12) < 0.5
        cuts = [-1.0, *(value + 0.5 for value in range(7))]
        best = max(((scores >= cut) == same).sum() for cut in cuts)
        assert ((scores >= _threshold(scores, same)) == same).sum() == best


def test_pairs_scores_are_those_of_loops():
    data = blobs(n=120)
    result = run("pairs", data, "euclidean", seed=2).results[0]
    split = halves(data.y.tolist(), None, repeat_seed(2, 0))
    Z, y = standardised(data, split), data.y
    codes = np.unique(y, return_inverse=True)[1]
    pairs = balanced_pairs(codes[split.test], split.test, 2000, split.seed)
    k = int(result.scores["chosen_k"].mean)
    distance, marginal = [], []
    for a, b in zip(split.test[pairs.i], split.test[pairs.j], strict=True):
        distance.append(-squared(Z, a, b))
        nearest = [sorted(split.train, key=lambda row: squared(Z, q, row))[:k] for q in (a, b)]
        shares = [[np.mean(y[rows] == f) for f in "abc"] for rows in nearest]
        marginal.append(sum(p * q for p, q in zip(*shares, strict=True)))
    for name, score in (("auc_distance", distance), ("auc_marginal", np.round(marginal, 12))):
        wins = [
            (s > t) + 0.5 * (s == t)
            for s, t in itertools.product(np.array(score)[pairs.same], np.array(score)[~pairs.same])
        ]
        assert result.scores[name].mean == pytest.approx(np.mean(wins))
    assert set(result.roc) == {BY_DISTANCE, BY_VOTES}


def test_pairs_that_are_equal_but_for_rounding_tie():
    shares = np.round(np.array([[2, 1, 0], [2, 0, 1], [1, 2, 0]]) / 3, 12)
    one, other = _marginal(shares, PairSet(np.array([0, 0]), np.array([1, 2]), np.array([True, False])))
    assert one == other
    assert _levels(np.array([0.5, 0.3, 0.1 + 0.2, 0.0])).tolist() == [2, 1, 1, 0]


@pytest.mark.parametrize("protocol", ["online", "ccml", "pairs"])
def test_patients_stay_together_and_any_distance_can_be_measured(protocol):
    data = blobs(n=80, patients=True)
    result = run(protocol, data, "euclidean", "l1", "bdm", LearnerSpec("distboost", {"rounds": 3}))
    assert result.split.by_patient
    assert [one.learner for one in result.results] == ["euclidean", "l1", "bdm", "distboost"]
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    for one in document["results"]:
        for name, score in one["scores"].items():
            if "error" in name or "auc" in name or "ndcg" in name:
                assert all(0 <= value <= 1 for value in score["values"] if value is not None), name


@pytest.mark.parametrize("protocol", ["online", "ccml", "pairs"])
def test_a_seed_gives_the_same_scores(protocol):
    data = builtin_table("iris")
    a, b, other = (run(protocol, data, "euclidean", seed=seed).results[0] for seed in (1, 1, 2))
    assert a.scores == b.scores
    assert a.scores != other.scores


@pytest.mark.parametrize("protocol", ["online", "ccml", "pairs"])
def test_wrong_requests_and_cancelling(protocol):
    class Cancelling(Reporter):
        def check_cancelled(self):
            raise Cancelled

    with pytest.raises(BadArguments, match="at least one repeat"):
        run(protocol, blobs(), "euclidean", repeats=0)
    with pytest.raises(Cancelled):
        run(protocol, blobs(), "euclidean", reporter=Cancelling())


@pytest.mark.parametrize("protocol", ["online", "pairs"])
@pytest.mark.parametrize("n", [6, 9, 14])
def test_tiny_and_lopsided_data(protocol, n):
    y = np.array([*(["a", "b"] * n)[: n - 1], "rare"])
    data = EvaluationData(np.random.default_rng(n).normal(size=(n, 2)), y)
    result = run(protocol, data, "euclidean", repeats=2)
    assert result.results or "pairs" in result.failed[0].reason
