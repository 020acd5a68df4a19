"""Mahalanobis equals its definition."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.numerics.covariance import ledoit_wolf
from tests.helpers.learner_checks import labelled_problem, matrix_of


def test_mahalanobis_is_the_inverse_covariance():
    X, _, _ = labelled_problem()
    metric = make_learner("mahalanobis").fit(X).metric()
    covariance = sum(np.outer(x - X.mean(axis=0), x - X.mean(axis=0)) for x in X) / len(X)
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(covariance), rtol=1e-10, atol=1e-12)
    assert metric.card.notes == ()


def test_a_singular_covariance_is_shrunk_as_ledoit_and_wolf_say():
    from sklearn.covariance import ledoit_wolf as reference

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30)) @ rng.normal(size=(30, 30))
    centred = X - X.mean(axis=0)
    covariance, shrinkage = reference(centred, assume_centered=True)
    assert ledoit_wolf(centred) == pytest.approx(shrinkage, rel=1e-10)
    metric = make_learner("mahalanobis").fit(X).metric()
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(covariance), rtol=1e-8, atol=1e-12)
    assert "could not be inverted" in metric.card.notes[0]
    half = make_learner("mahalanobis", shrinkage=0.5).fit(X).metric()
    S = centred.T @ centred / 20
    mixed = 0.5 * S + 0.5 * np.trace(S) / 30 * np.eye(30)
    np.testing.assert_allclose(matrix_of(half), np.linalg.inv(mixed), rtol=1e-9, atol=1e-12)
