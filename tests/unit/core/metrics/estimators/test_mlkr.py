"""MLKR against plain loops, and what it takes for a number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.mlkr import regression_loss
from tests.helpers.learner_checks import labelled_problem, numeric_gradient


def naive_loss(L, X, targets):
    """Eqs. 2 and 3 of Weinberger and Tesauro (2007)."""
    total = 0.0
    for i in range(len(X)):
        kernel = [math.exp(-(((L @ (x - X[i])) ** 2).sum())) if j != i else 0.0 for j, x in enumerate(X)]
        predicted = sum(k * y for k, y in zip(kernel, targets, strict=True)) / sum(kernel)
        total += float(((predicted - targets[i]) ** 2).sum())
    return total / len(X)


def test_the_loss_and_its_gradient_are_those_of_the_paper():
    rng = np.random.default_rng(0)
    X, targets, L = rng.normal(size=(15, 4)), rng.normal(size=(15, 2)), 0.7 * rng.normal(size=(3, 4))
    value, gradient = regression_loss(L, X, targets)
    assert value == pytest.approx(naive_loss(L, X, targets), rel=1e-9)
    numeric = numeric_gradient(lambda A: regression_loss(A, X, targets)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


def test_near_cases_have_near_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    size = np.sin(X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=200)

    def error(learner):
        d = learner.fit(X[:140], size[:140]).metric().distances(X[140:], X[:140])
        nearest = np.argsort(d, axis=1)[:, :3]
        return float(np.abs(size[:140][nearest].mean(axis=1) - size[140:]).mean())

    learner = make_learner("mlkr")
    assert error(learner) < 0.5 * error(make_learner("pca"))
    assert "as numbers" in learner.metric().card.notes[0]
    assert learner.metric().card.findings == {}


def test_whole_numbers_are_kinds_unless_they_are_called_numbers():
    X, _, codes = labelled_problem()
    kinds = make_learner("mlkr").fit(X, codes.astype(str)).metric()
    assert "0 or 1" in kinds.card.notes[0]
    renamed = make_learner("mlkr").fit(X, np.array(["a", "b", "c"])[codes]).metric()
    np.testing.assert_allclose(kinds.distances(X, X), renamed.distances(X, X), rtol=1e-6)
    ratings = make_learner("mlkr", target="numbers").fit(X, codes.astype(str)).metric()
    assert "as numbers" in ratings.card.notes[0]
    assert not np.allclose(kinds.distances(X, X), ratings.distances(X, X), rtol=1e-3)
    with pytest.raises(BadInput, match="not all numbers"):
        make_learner("mlkr", target="numbers").fit(X, np.array(["a", "b", "c"])[codes])
    with pytest.raises(BadInput, match="the same number"):
        make_learner("mlkr").fit(X, np.full(len(X), 1.5))


def test_cases_without_a_number_are_left_out():
    X, _, _ = labelled_problem()
    size = X[:, 0] + 0.5
    some = size.copy()
    some[::5] = np.nan
    known = np.isfinite(some)
    a, b = make_learner("mlkr").fit(X, some), make_learner("mlkr").fit(X[known], some[known])
    np.testing.assert_allclose(a.L_.T @ a.L_, b.L_.T @ b.L_, rtol=1e-6, atol=1e-9)
