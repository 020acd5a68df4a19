"""The protocol ccml against loops over cases."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.splits import folds
from tests.helpers.blobs import blobs
from tests.helpers.naive_protocols import run_protocol, squared, standardised, vote_credit


def test_rules_and_ndcg_are_those_of_loops():
    data = blobs(n=50)
    result = run_protocol("ccml", data, "euclidean", seed=3)
    assert result.split.rule == "10 folds"
    y = data.y
    totals = {"knn": [], "mean": [], "likelihood": [], "ndcg": []}
    for split in folds(y.tolist(), None, repeat_seed(3, 0), 10):
        Z = standardised(data, split.train)
        totals["knn"].append(1 - np.mean([vote_credit(Z, y, query, split.train, 3) for query in split.test]))
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


def test_repeats_are_ten_folds_each():
    result = run_protocol("ccml", builtin_table("iris"), "euclidean", repeats=2)
    assert len(result.results[0].scores["knn_error"].values) == 20
    with pytest.raises(BadInput, match="too few cases"):
        run_protocol("ccml", blobs(n=8), "euclidean")


def test_few_relevant_cases_are_the_ideal_of_ndcg():
    y = np.array(["a"] * 30 + ["b"] * 11)
    X = np.random.default_rng(0).normal(size=(41, 2)) + 50 * (y == "b")[:, None]
    scores = run_protocol("ccml", EvaluationData(X, y), "euclidean").results[0].scores
    assert scores["ndcg@20"].mean == pytest.approx(1.0)
