"""Both rules of class-conditional k-NN, against loops over findings and cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.class_conditional import finding_neighbours, wrong_shares
from semblance.core.evaluation.neighbours import EmbeddedDistances, GivenDistances


def problem(q=15, n=40, findings=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, findings - 1, n)
    codes[:2] = findings - 1
    Q, X = rng.normal(size=(q, 3)), rng.normal(size=(n, 3)) + codes[:, None]
    return ((Q[:, None] - X[None]) ** 2).sum(axis=-1), codes


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_the_mean_rule_is_equation_14(k):
    d, codes = problem()
    means = finding_neighbours(GivenDistances(d), codes, 4, k).means(k)
    for query in range(len(d)):
        for finding in range(4):
            nearest = sorted(d[query, i] for i in range(len(codes)) if codes[i] == finding)[:k]
            assert means[query, finding] == pytest.approx(sum(nearest) / len(nearest), rel=1e-12)


@pytest.mark.parametrize("k", [2, 5])
def test_the_likelihood_rule_is_algorithm_2(k):
    d, codes = problem()
    score = finding_neighbours(GivenDistances(d), codes, 4, k).log_posterior(k)
    for query in range(len(d)):
        nearest = [sorted(d[query, i] for i in range(len(codes)) if codes[i] == f)[:k] for f in range(4)]
        roots = [math.sqrt(value) for values in nearest for value in values]
        mean = sum(roots) / len(roots)
        variance = sum((root - mean) ** 2 for root in roots) / len(roots)
        for finding, values in enumerate(nearest):
            total = sum(values) * k / len(values)
            prior = sum(code == finding for code in codes) / len(codes)
            expected = -total / (2 * variance) + math.log(prior)
            assert score[query, finding] == pytest.approx(expected, rel=1e-12)


def test_the_first_of_more_neighbours_are_the_same():
    d, codes = problem()
    many = finding_neighbours(GivenDistances(d), codes, 4, 9)
    few = finding_neighbours(GivenDistances(d), codes, 4, 3)
    np.testing.assert_allclose(many.means(3), few.means(3), rtol=1e-14)
    np.testing.assert_allclose(many.log_posterior(3), few.log_posterior(3), rtol=1e-13)


def test_finding_without_cases_never_wins():
    d, codes = problem()
    near = finding_neighbours(GivenDistances(d), codes, 6, 3)
    assert np.isinf(near.means(3)[:, 4:]).all()
    assert (near.log_posterior(3)[:, 4:] == -np.inf).all()
    assert near.means(3).argmin(axis=1).max() < 4


def test_most_frequent_finding_wins_for_equal_distances():
    near = finding_neighbours(GivenDistances(np.ones((2, 5))), np.array([0, 1, 1, 1, 2]), 3, 1)
    assert near.log_posterior(1).argmax(axis=1).tolist() == [1, 1]


def test_no_cases_are_refused():
    with pytest.raises(BadInput, match="no cases"):
        finding_neighbours(GivenDistances(np.empty((2, 0))), np.empty(0, dtype=np.intp), 2, 1)


def test_findings_equal_up_to_rounding_share_the_credit():
    """On a grid of few values most cases tie; large numbers, as unscaled features have, add rounding."""
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 3, (60, 4)).astype(float)
    codes = rng.integers(0, 3, 60)
    Q = rng.integers(0, 3, (40, 4)).astype(float)
    truth = rng.integers(0, 3, 40)
    d = ((Q[:, None] - grid[None]) ** 2).sum(axis=-1)
    near = finding_neighbours(EmbeddedDistances(Q / 0.7 + 1e3, grid / 0.7 + 1e3), codes, 3, 5)
    for k in (1, 3, 5):
        expected = []
        for query in range(40):
            sums = [np.sort(d[query, codes == finding])[:k].sum() for finding in range(3)]
            winners = np.flatnonzero(sums == np.min(sums))
            expected.append(1 - (truth[query] in winners) / len(winners))
        assert wrong_shares(near.nearest_in_mean(k), truth) == pytest.approx(expected)
        assert np.mean([value not in (0, 1) for value in expected]) > 0


def test_equal_likelihoods_share_the_credit():
    """Two findings of the same number of cases, mirrored about the queries."""
    X = np.array([[0.1, 0.3], [0.1, -0.3], [0.7, 0.2], [-0.1, 0.3], [-0.1, -0.3], [-0.7, 0.2]])
    Q = np.array([[0.0, 0.0], [0.0, 0.11], [0.5, 0.0]])
    near = finding_neighbours(EmbeddedDistances(Q, X), np.array([0, 0, 0, 1, 1, 1]), 2, 3)
    assert wrong_shares(near.likeliest(3), np.zeros(3, dtype=np.intp)).tolist() == [0.5, 0.5, 0.0]


def test_cases_of_the_own_patient_are_left_out():
    d = np.array([[0.0, 1.0, 2.0, 3.0]])
    own = {"query_patients": np.array([7]), "gallery_patients": np.array([7, 1, 7, 2])}
    near = finding_neighbours(GivenDistances(d), np.array([0, 0, 1, 1]), 2, 2, **own)
    assert near.distances[0].tolist() == [[1.0, np.inf], [3.0, np.inf]]
