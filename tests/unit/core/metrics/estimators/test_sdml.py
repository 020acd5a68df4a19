"""SDML solves its problem: the conditions of the optimum hold."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.sdml import mean_product
from semblance.core.metrics.training_data.pairs import training_pairs
from tests.helpers.learner_checks import in_order_of_training, labelled_problem, matrix_of


def problem():
    X, y = in_order_of_training(*labelled_problem(n=60, d=6)[:2])
    source = training_pairs("SDML", 60, y, None, draw=200, seed=0)
    z = source.differences(X)
    scale = np.square(z).mean()
    K = sum(
        (0.5 / (source.label == label).sum()) * label * np.outer(one, one) / scale
        for one, label in zip(z, source.label, strict=True)
    )
    return X, y, scale, K


def test_the_mean_product_is_its_sum():
    _, _, _, K = problem()
    X, y, scale, _ = problem()
    source = training_pairs("SDML", 60, y, None, draw=200, seed=0)
    np.testing.assert_allclose(
        mean_product(source.differences(X) / np.sqrt(scale), source.label), K, atol=1e-12
    )


@pytest.mark.parametrize("sparsity", [0.02, 0.1])
def test_no_change_of_the_matrix_lowers_the_objective(sparsity):
    X, y, scale, K = problem()
    M = matrix_of(make_learner("sdml", balance=0.3, sparsity=sparsity).fit(X, y).metric()) * scale
    P = np.eye(6) + 0.3 * K
    # The subgradient of Eq. 8: P - M^-1 is 0 on the diagonal and -lambda sign(M), or within +-lambda where M is 0.
    gradient = P - np.linalg.inv(M)
    np.testing.assert_allclose(np.diag(gradient), 0.0, atol=1e-5)
    off = ~np.eye(6, dtype=bool)
    assert np.abs(gradient[off]).max() <= sparsity + 1e-5
    used = off & (np.abs(M) > 1e-9)
    np.testing.assert_allclose(gradient[used], -sparsity * np.sign(M[used]), atol=1e-4)
    assert used.sum() < off.sum() or sparsity < 0.1


def test_without_penalty_it_is_the_inverse():
    X, y, scale, K = problem()
    M = matrix_of(make_learner("sdml", balance=0.3, sparsity=0.0).fit(X, y).metric())
    np.testing.assert_allclose(M, np.linalg.inv(np.eye(6) + 0.3 * K) / scale, rtol=1e-9, atol=1e-12)


def test_a_balance_without_a_solution_is_lowered_and_reported():
    X, y, _, _ = problem()
    metric = make_learner("sdml", balance=1e4).fit(X, y).metric()
    assert np.linalg.eigvalsh(matrix_of(metric))[0] > 0
    assert any("Balance lowered" in note for note in metric.card.notes)
