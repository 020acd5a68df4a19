"""SCML: its loss is the definition, its weights are optimal, and few directions suffice."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.scml import hinge_loss, local_discriminants, margins_of
from semblance.core.metrics.numerics.minimise import minimise
from semblance.core.tasks import SILENT
from tests.helpers.learner_checks import labelled_problem, matrix_of, numeric_gradient


def problem():
    rng = np.random.default_rng(0)
    X, bases = rng.normal(size=(12, 4)), rng.normal(size=(6, 4))
    triplets = np.array([rng.choice(12, 3, replace=False) for _ in range(15)])
    return X, triplets, bases, rng.uniform(size=6)


def test_the_loss_and_its_gradient_are_those_of_the_paper():
    X, triplets, bases, w = problem()
    M = sum(weight * np.outer(b, b) for weight, b in zip(w, bases, strict=True))
    losses = []
    for i, j, k in triplets:
        x = 1 + (X[i] - X[j]) @ M @ (X[i] - X[j]) - (X[i] - X[k]) @ M @ (X[i] - X[k])
        losses.append(0.0 if x <= 0 else x * x / 2 if x < 1 else x - 0.5)
    margins = margins_of(X, triplets, bases)
    value, gradient = hinge_loss(w, margins, 0.01)
    assert value == pytest.approx(sum(losses) / 15 + 0.01 * sum(w), rel=1e-9)
    numeric = numeric_gradient(lambda v: hinge_loss(v, margins, 0.01)[0], w)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.parametrize("sparsity", [0.001, 0.1])
def test_no_other_weights_are_better(sparsity):
    X, triplets, bases, w = problem()
    margins = margins_of(X, triplets, bases)
    found = minimise(
        lambda v: hinge_loss(v, margins, sparsity), w, rounds=500, reporter=SILENT, what="", least=0.0
    )
    assert found.best.min() >= 0.0
    gradient = hinge_loss(found.best, margins, sparsity)[1]
    # At the minimum the gradient is 0 along positive weights and points outwards at those that are 0.
    np.testing.assert_allclose(gradient[found.best > 1e-9], 0.0, atol=1e-3)
    assert gradient[found.best <= 1e-9].min(initial=0.0) > -1e-3


def test_directions_are_discriminants_of_the_nearest_cases():
    X, _, codes = labelled_problem(n=30)
    bases = local_discriminants(X, codes, 1, 0)
    # One centre, and 10 and 20 of each finding, which are all there are: the same two discriminants twice.
    np.testing.assert_allclose(np.linalg.norm(bases, axis=1), 1.0, rtol=1e-12)
    assert bases.shape == (4, 5)
    scatter = sum(np.cov(X[codes == c].T, bias=True) * (codes == c).sum() for c in range(3)) / 30
    scatter = 0.9 * scatter + 0.1 * np.trace(scatter) / 5 * np.eye(5)
    means = np.stack([X[codes == c].mean(axis=0) for c in range(3)]) - X.mean(axis=0)
    top = np.linalg.eig(np.linalg.solve(scatter, means.T @ means))
    expected = top[1].real[:, np.argmax(top[0].real)]
    assert abs(bases[0] @ expected) == pytest.approx(1.0, rel=1e-9)


def test_it_learns_from_triplets_alone_and_from_findings():
    X, y, _ = labelled_problem(n=60)
    M = matrix_of(make_learner("scml", sparsity=0.05).fit(X, y).metric())
    assert np.linalg.eigvalsh(M)[0] > -1e-12
    triplets = [
        (i, j, k) for i in range(60) for j in range(i) for k in range(0, 60, 9) if y[i] == y[j] != y[k]
    ]
    for metric in (
        make_learner("scml").fit(X, triplets=np.array(triplets)).metric(),
        make_learner("scml").fit(X, y).metric(),
    ):
        d = metric.distances(X, X)
        same = y[:, None] == y
        np.fill_diagonal(same, False)
        assert d[same].mean() < d[y[:, None] != y].mean()
