"""MMC meets its constraint and is optimal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.metrics.estimators.mmc import negative_spread
from tests.helpers.learner_checks import labelled_problem, matrix_of, numeric_gradient
from tests.helpers.learners import of_paper


def test_mmc_meets_its_constraint_and_no_matrix_does_better():
    X, y, _ = labelled_problem(n=60)
    n = len(X)
    i, j = np.triu_indices(n, 1)
    similar = y[i] == y[j]
    z = X[i] - X[j]
    learner = of_paper("mmc", draw=1000, rounds=400, shrinkage=0, validation=0).fit(X, y)
    M = matrix_of(learner.metric())
    assert dict(learner.metric().card.constraints) == {
        "similar": int(similar.sum()),
        "dissimilar": int((~similar).sum()),
    }
    assert np.einsum("ij,jk,ik->i", z[similar], M, z[similar]).mean() == pytest.approx(1.0, rel=1e-9)
    far = z[~similar]
    length = np.sqrt(np.einsum("ij,jk,ik->i", far, M, far))
    # Certificate of a concave maximum over {<S, M> = 1}: the gradient's top generalised eigenvalue.
    gradient = np.einsum("ij,ik,i->jk", far, far, 0.5 / length) / len(far)
    S = np.einsum("ij,ik->jk", z[similar], z[similar]) / similar.sum()
    top = np.linalg.eigvals(np.linalg.solve(S, gradient)).real.max()
    gap = top - np.trace(gradient @ M)
    assert gap > -1e-9
    assert gap < 1e-3 * length.mean()


def test_mmc_of_findings_alone_does_not_depend_on_a_draw():
    X, y, _ = labelled_problem(n=60)
    settings = {"shrinkage": 0.1, "validation": 0, "rounds": 20}
    first, second = (of_paper("mmc", random_state=seed, **settings).fit(X, y) for seed in (0, 1))
    np.testing.assert_allclose(matrix_of(first.metric()), matrix_of(second.metric()), rtol=1e-6)


def test_mmc_learns_along_the_directions_in_which_cases_differ_most_of_many_features():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 80)
    X = rng.normal(size=(160, 140))
    X[:, 0] += 6.0 * (y == "b")
    M = matrix_of(of_paper("mmc", shrinkage=0.9, validation=0, rounds=3).fit(X, y).metric())
    assert np.linalg.matrix_rank(M) <= 128
    assert M[0, 0] > 5.0 * np.diag(M)[1:].max()


def test_mmc_gradient():
    rng = np.random.default_rng(0)
    F, apart = rng.normal(size=(3, 4)), rng.normal(size=(15, 4))
    value, gradient = negative_spread(F, apart)
    size = math.sqrt((F**2).sum())
    assert value == pytest.approx(-np.mean([np.linalg.norm(F @ z) for z in apart]) / size, rel=1e-12)
    numeric = numeric_gradient(lambda A: negative_spread(A, apart)[0], F)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())
