"""The objective of LMNN against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics.estimators.lmnn import objective as lmnn_objective
from semblance.core.metrics.estimators.lmnn import target_neighbours
from tests.helpers.learner_checks import labelled_problem, numeric_gradient


def naive_lmnn(L, X, codes, targets, push):
    n, value = len(X), 0.0
    d = [[float(np.square(L @ (X[i] - X[j])).sum()) for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in targets[i]:
            if j >= 0:
                value += (1 - push) * d[i][j]
                value += push * sum(max(0.0, 1 + d[i][j] - d[i][k]) for k in range(n) if codes[k] != codes[i])
    return value / n


def test_lmnn_objective_and_gradient_are_those_of_the_paper():
    X, _, codes = labelled_problem(n=20, d=4)
    codes = codes.astype(np.int64)
    codes[7] = 3
    targets = target_neighbours(X, codes, 3)
    for i in range(20):
        others = [j for j in range(20) if j != i and codes[j] == codes[i]]
        nearest = sorted(others, key=lambda j: ((X[i] - X[j]) ** 2).sum())[:3]
        assert [j for j in targets[i] if j >= 0] == nearest
    L = np.random.default_rng(1).normal(size=(3, 4))
    value, gradient = lmnn_objective(L, X, codes, targets, 0.3)
    assert value == pytest.approx(naive_lmnn(L, X, codes, targets, 0.3), rel=1e-12)
    numeric = numeric_gradient(lambda A: lmnn_objective(A, X, codes, targets, 0.3)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())
