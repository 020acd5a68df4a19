"""Each score against a naive one: every order of the tied cases is gone through."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.evaluation.neighbours import GivenDistances
from semblance.core.evaluation.retrieval_scores import retrieval_scores

MAX_K = 6


def orders(distances):
    """Every order of the cases by distance, tied ones in any."""
    groups = [np.flatnonzero(distances == value) for value in np.unique(distances)]
    for parts in itertools.product(*(itertools.permutations(group.tolist()) for group in groups)):
        yield [row for part in parts for row in part]


def naive(distances, findings, patients, query):
    """Means over all orders of precision, recall, ndcg, hit at 1..MAX_K, and of average precision at R."""
    others = [row for row in range(len(findings)) if patients[row] != patients[query]]
    relevant = sum(findings[row] == findings[query] for row in others)
    scores = {name: [] for name in ("precision", "recall", "ndcg", "hit", "map")}
    for order in orders(distances[query][others]):
        good = [findings[others[place]] == findings[query] for place in order]
        depth = range(1, MAX_K + 1)
        scores["precision"].append([sum(good[:k]) / k for k in depth])
        if relevant:
            scores["recall"].append([sum(good[:k]) / relevant for k in depth])
            gains = [[g / np.log2(rank + 2) for rank, g in enumerate(good[:k])] for k in depth]
            ideal = [sum(1 / np.log2(rank + 2) for rank in range(min(k, relevant))) for k in depth]
            scores["ndcg"].append([sum(gain) / best for gain, best in zip(gains, ideal, strict=True)])
            scores["hit"].append([float(any(good[:k])) for k in depth])
            scores["map"].append(
                sum(good[i] * sum(good[: i + 1]) / (i + 1) for i in range(relevant)) / relevant
            )
    return {name: np.mean(values, axis=0) if values else np.nan for name, values in scores.items()}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("levels", [3, 5, 1000])
def test_against_every_order(seed, levels):
    rng = np.random.default_rng(seed)
    n = 9
    distances = rng.integers(0, levels, (n, n)).astype(float)
    findings = rng.integers(0, 3, n)
    patients = rng.integers(0, 6, n) if seed % 2 else np.arange(n)
    found = retrieval_scores(GivenDistances(distances), findings, patients, MAX_K)
    for query in range(n):
        expected = naive(distances, findings, patients, query)
        for name, got in (
            ("precision", found.precision),
            ("recall", found.recall),
            ("ndcg", found.ndcg),
            ("hit", found.hit),
        ):
            np.testing.assert_allclose(got[query], np.broadcast_to(expected[name], MAX_K), err_msg=name)
        np.testing.assert_allclose(found.average_precision[query], expected["map"])


def test_a_perfect_and_a_worst_ranking():
    findings = np.array([0, 0, 0, 1, 1, 1])
    apart = np.abs(findings[:, None] - findings[None, :]).astype(float) + np.linspace(0, 0.1, 36).reshape(
        6, 6
    )
    best = retrieval_scores(GivenDistances(apart), findings, max_k=2)
    assert best.precision.min() == best.recall[:, 1].min() == best.average_precision.min() == 1.0
    assert best.ndcg.min() == pytest.approx(1.0)
    worst = retrieval_scores(GivenDistances(2.0 - apart), findings, max_k=3)
    assert worst.hit.max() == worst.average_precision.max() == worst.ndcg.max() == 0.0


def test_query_without_relevant_cases_has_no_recall():
    findings = np.array([0, 1, 1])
    found = retrieval_scores(GivenDistances(np.arange(9.0).reshape(3, 3)), findings, max_k=2)
    assert np.isnan(found.recall[0]).all()
    assert np.isnan(found.average_precision[0])
    assert found.precision[0].tolist() == [0.0, 0.0]
