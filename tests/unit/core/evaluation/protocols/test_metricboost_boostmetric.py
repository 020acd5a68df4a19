"""The protocols metricboost and boostmetric against loops over cases and triplets."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.splits import folds, three_parts
from semblance.core.metrics.steps import parse_steps
from tests.helpers.blobs import blobs

STEPS = parse_steps("standardise")


def scores_of(name, data, *learners, repeats=1, seed=0, **settings):
    specs = [one if isinstance(one, LearnerSpec) else LearnerSpec(one) for one in learners]
    return get_protocol(name, **settings).run(data, specs, steps=STEPS, repeats=repeats, seed=seed)


def standardised(data, train):
    return (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)


def wrong(Z, y, query, gallery, k):
    """1 minus the credit of the majority of the k nearest."""
    nearest = sorted(gallery, key=lambda row: ((Z[query] - Z[row]) ** 2).sum())[:k]
    counts = {f: sum(y[row] == f for row in nearest) for f in set(y)}
    winners = [f for f in counts if counts[f] == max(counts.values())]
    return 1 - (y[query] in winners) / len(winners)


@pytest.mark.parametrize("train_on", ["four", "one"])
@pytest.mark.parametrize("patients", [0, 2])
def test_metricboost_scores_are_those_of_loops(train_on, patients):
    data = blobs(n=60, patients=patients)
    result = scores_of("metricboost", data, "euclidean", seed=3, train_on=train_on)
    triplets, nearest = [], []
    for split in folds(data.y.tolist(), data.groups, repeat_seed(3, 0), 5):
        train, test = (split.train, split.test) if train_on == "four" else (split.test, split.train)
        Z, y = standardised(data, train), data.y
        own = np.arange(60) if data.groups is None else data.groups
        right = [
            ((Z[i] - Z[j]) ** 2).sum() < ((Z[i] - Z[k]) ** 2).sum()
            for i in test
            for j in test
            for k in test
            if own[i] not in (own[j], own[k]) and y[j] == y[i] != y[k]
        ]
        triplets.append(np.mean(right))
        nearest.append(1 - np.mean([wrong(Z, y, query, train, 1) for query in test]))
    scores = result.results[0].scores
    assert scores["triplet_accuracy"].values == pytest.approx(triplets, rel=1e-12)
    assert scores["knn_accuracy@1"].values == pytest.approx(nearest, rel=1e-12)
    assert result.results[0].curves["knn_accuracy"].mean[0] == pytest.approx(np.mean(nearest))
    sizes = (48.0, 12.0) if train_on == "four" else (12.0, 48.0)
    if not patients:
        assert (result.split.n_train, result.split.n_test) == sizes
    assert result.split.rule == ("5 folds" if train_on == "four" else "one of 5 folds to train on")


def test_metricboost_repeats_are_five_folds_each_and_metricboost_learns_20_rounds():
    data = builtin_table("iris")
    result = scores_of("metricboost", data, "metricboost", repeats=2)
    assert result.results[0].params["rounds"] == 20
    assert len(result.results[0].scores["triplet_accuracy"].values) == 10
    own = scores_of("metricboost", data, LearnerSpec("metricboost", {"rounds": 3}), "bdm")
    assert own.results[0].params["rounds"] == 3
    assert own.results[1].params["rounds"] != 20
    with pytest.raises(BadArguments, match="one of four, one"):
        get_protocol("metricboost", train_on="two")
    with pytest.raises(BadInput, match="too few cases"):
        scores_of("metricboost", EvaluationData(np.eye(4), np.array(list("abab"))), "euclidean")


def test_a_tested_part_without_triplets_has_no_triplet_accuracy():
    data = EvaluationData(np.random.default_rng(0).normal(size=(10, 2)), np.array(list("abcdefghij")))
    result = scores_of("metricboost", data, "euclidean").results[0]
    assert "triplet_accuracy" not in result.scores
    assert result.scores["knn_accuracy@1"].values == (0.0,) * 5


def test_boostmetric_errors_are_those_of_loops():
    data = blobs(n=90)
    result = scores_of("boostmetric", data, "euclidean", seed=5, repeats=3)
    tested, validated = [], []
    for repeat in range(3):
        split = three_parts(data.y.tolist(), None, repeat_seed(5, repeat), 0.15, 0.15)
        Z, y = standardised(data, split.train), data.y
        tested.append([np.mean([wrong(Z, y, q, split.train, k) for q in split.test]) for k in (1, 3, 5)])
        validated.append(np.mean([wrong(Z, y, q, split.train, 3) for q in split.validation]))
    one = result.results[0]
    for place, k in enumerate((1, 3, 5)):
        assert one.scores[f"knn_error@{k}"].values == pytest.approx([row[place] for row in tested])
        assert one.curves["knn_error"].mean[k - 1] == pytest.approx(np.mean([row[place] for row in tested]))
    assert one.scores["validation_knn_error@3"].values == pytest.approx(validated)
    assert one.curves["validation_knn_error"].mean[2] == pytest.approx(np.mean(validated))
    assert 62 <= result.split.n_train <= 64
    low, high = one.scores["knn_error@3"].ci95
    assert low < one.scores["knn_error@3"].mean < high


def test_boostmetric_needs_three_parts():
    with pytest.raises(BadInput, match="3 parts"):
        scores_of("boostmetric", EvaluationData(np.eye(2), np.array(["a", "b"])), "euclidean")
    tiny = scores_of("boostmetric", EvaluationData(np.eye(4)[:, :2], np.array(list("abab"))), "euclidean")
    assert "knn_error@1" in tiny.results[0].scores
    assert "validation_knn_error@3" not in tiny.results[0].scores
