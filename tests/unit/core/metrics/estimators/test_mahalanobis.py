"""Mahalanobis equals its definition."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.numerics.covariance import ledoit_wolf_of_rows
from semblance.core.metrics.training_data.validation import SHRINKAGES
from semblance.core.workflows.metrics.leakage import is_supervised
from tests.helpers.learner_checks import labelled_problem, matrix_of


def test_mahalanobis_is_the_inverse_covariance():
    X, _, _ = labelled_problem()
    metric = make_learner("mahalanobis", shrinkage=0).fit(X).metric()
    covariance = sum(np.outer(x - X.mean(axis=0), x - X.mean(axis=0)) for x in X) / len(X)
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(covariance), rtol=1e-10, atol=1e-12)
    assert metric.card.notes == ()


def test_a_singular_covariance_is_shrunk_as_ledoit_and_wolf_say():
    from sklearn.covariance import ledoit_wolf as reference

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30)) @ rng.normal(size=(30, 30))
    centred = X - X.mean(axis=0)
    covariance, shrinkage = reference(centred, assume_centered=True)
    assert ledoit_wolf_of_rows(centred) == pytest.approx(shrinkage, rel=1e-10)
    metric = make_learner("mahalanobis").fit(X).metric()
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(covariance), rtol=1e-8, atol=1e-12)
    assert metric.card.notes == (f"Covariance shrunk by {shrinkage:.4g} as Ledoit and Wolf say.",)
    half = make_learner("mahalanobis", shrinkage=0.5).fit(X).metric()
    S = centred.T @ centred / 20
    mixed = 0.5 * S + 0.5 * np.trace(S) / 30 * np.eye(30)
    np.testing.assert_allclose(matrix_of(half), np.linalg.inv(mixed), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["mahalanobis", "rca", "lda"])
def test_a_nearly_singular_covariance_does_not_make_it_worse_than_no_metric(name):
    """Directions of little variance are noise here; their inverse drowned all others (1-NN error .5 on USPS)."""
    rng = np.random.default_rng(1)
    y = np.arange(200) % 4
    means = 2.0 * rng.normal(size=(4, 3))
    X = np.column_stack([means[y] + rng.normal(size=(200, 3)), 1e-3 * rng.normal(size=(200, 60))])
    X = X @ np.linalg.qr(rng.normal(size=(63, 63)))[0]

    def error(learner):
        d = learner.fit(X[:100], y[:100].astype(str)).metric().distances(X[100:], X[:100])
        return float((y[:100][d.argmin(axis=1)] != y[100:]).mean())

    assert error(make_learner(name, shrinkage=0)) > error(make_learner(name)) + 0.1
    assert error(make_learner(name)) <= error(make_learner("euclidean")) + 0.03


def test_findings_choose_the_shrinkage_and_without_them_ledoit_and_wolf():
    X, y, _ = labelled_problem(n=80)
    chosen = make_learner("mahalanobis").fit(X, y)
    share = float(chosen.metric().card.notes[0].split()[3].rstrip(",")) if chosen.metric().card.notes else 0.0
    assert share in SHRINKAGES
    same = make_learner("mahalanobis", shrinkage=share).fit(X, y)
    np.testing.assert_array_equal(chosen.L_, same.L_)
    assert is_supervised(chosen.metric())
    assert not is_supervised(make_learner("mahalanobis").fit(X).metric())
