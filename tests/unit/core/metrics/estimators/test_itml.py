"""ITML against the plain loop of its paper."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics.estimators.itml import project, start_of
from tests.helpers.learner_checks import matrix_of
from tests.helpers.learners import of_paper


def naive_itml(z, label, gamma, passes):
    """Algorithm 1 of Davis et al. as it stands."""
    d = z.shape[1]
    lengths = sorted(float(v @ v) for v in z)
    low, high = np.percentile(lengths, [5, 95])
    A = np.eye(d)
    xi = [low if y > 0 else high for y in label]
    multiplier = [0.0] * len(z)
    for _ in range(passes):
        for number, (v, y) in enumerate(zip(z, label, strict=True)):
            p = sum(v[a] * A[a, b] * v[b] for a in range(d) for b in range(d))
            alpha = min(multiplier[number], y / 2 * (1 / p - gamma / xi[number]))
            beta = y * alpha / (1 - y * alpha * p)
            xi[number] = gamma * xi[number] / (gamma + y * alpha * xi[number])
            multiplier[number] -= alpha
            A = A + beta * A @ np.outer(v, v) @ A
    return A, xi, multiplier


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_itml_is_the_plain_loop(gamma):
    rng = np.random.default_rng(0)
    z, label = rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], 60)
    A, xi, multiplier = naive_itml(z, label, gamma, 3)
    state = start_of(z, label)
    for _ in range(3):
        for start in range(0, 60, 25):
            project(state, z, label, slice(start, start + 25), gamma)
    np.testing.assert_allclose(state.M, A, rtol=0, atol=1e-12 * np.abs(A).max())
    np.testing.assert_allclose(state.bound, xi, rtol=1e-11)
    np.testing.assert_allclose(state.multiplier, multiplier, rtol=0, atol=1e-11 * max(multiplier))
    assert np.linalg.eigvalsh(state.M)[0] > 0


def test_itml_leaves_directions_without_pairs_unchanged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 25))
    y = np.array(list("ab" * 5))
    M = matrix_of(of_paper("itml", passes=5).fit(X, y).metric())
    beside = np.linalg.svd(X)[2][-1]
    np.testing.assert_allclose(M @ beside, beside, atol=1e-10)
