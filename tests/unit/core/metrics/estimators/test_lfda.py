"""LFDA equals its definition, and keeps clouds of one finding apart that LDA mixes up."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.lfda import local_scatters
from tests.helpers.learner_checks import labelled_problem, matrix_of


def naive_scatters(X, codes, k):
    """Eqs. 9 to 13 of Sugiyama (2007) as double sums."""
    n, d = X.shape
    within, between = np.zeros((d, d)), np.zeros((d, d))
    sigma = []
    for i in range(n):
        others = sorted(np.linalg.norm(X[i] - X[j]) for j in range(n) if codes[j] == codes[i])
        sigma.append(others[min(k, len(others) - 1)])
    for i in range(n):
        for j in range(n):
            outer = 0.5 * np.outer(X[i] - X[j], X[i] - X[j])
            if codes[i] == codes[j]:
                count = int((codes == codes[i]).sum())
                affinity = np.exp(-((X[i] - X[j]) ** 2).sum() / (sigma[i] * sigma[j]))
                within += affinity / count * outer
                between += affinity * (1 / n - 1 / count) * outer
            else:
                between += outer / n
    return within, between


@pytest.mark.parametrize("k", [2, 7, 50])
def test_the_scatters_are_their_double_sums(k):
    X, _, codes = labelled_problem(n=30, d=4)
    for found, expected in zip(local_scatters(X, codes, k), naive_scatters(X, codes, k), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_metric_is_that_of_the_generalised_eigenvectors():
    X, y, codes = labelled_problem(n=40, d=4)
    learner = make_learner("lfda", shrinkage=0.2).fit(X, y)
    within, between = naive_scatters(X, codes, 7)
    S = 0.8 * within + 0.2 * np.trace(within) / 4 * np.eye(4)
    values, vectors = np.linalg.eig(np.linalg.solve(S, between))
    expected = np.zeros((4, 4))
    for value, v in zip(values.real, vectors.real.T, strict=True):
        v = v / np.sqrt(v @ S @ v)
        expected += max(value, 0.0) * np.outer(v, v)
    np.testing.assert_allclose(matrix_of(learner.metric()), expected, rtol=1e-8, atol=1e-9)
    assert len(make_learner("lfda", shrinkage=0.2, components=2).fit(X, y).L_) == 2


def test_findings_of_two_clouds_stay_apart():
    """One finding on both sides of the other: their means are equal, and LDA has one direction of noise."""
    rng = np.random.default_rng(0)
    centres = np.array([-6.0, 0.0, 6.0])
    X = rng.normal(size=(150, 8))
    X[:, 0] += centres[np.arange(150) % 3]
    X[:, 1:] *= 4.0
    y = np.where(np.arange(150) % 3 == 1, "inside", "outside")

    def error(name):
        d = make_learner(name).fit(X[:90], y[:90]).metric().distances(X[90:], X[:90])
        return float((y[:90][d.argmin(axis=1)] != y[90:]).mean())

    assert error("lfda") <= 0.15
    assert error("lda") > error("lfda") + 0.1
