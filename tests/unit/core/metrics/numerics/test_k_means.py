"""Finding words: k-means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from semblance.core.metrics.numerics.k_means import k_means, nearest_centres


def points(n=3000, v=5, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, v)) + 4 * rng.integers(0, 4, (n, 1))).astype(np.float32)


def spread(X, centres):
    return float(nearest_centres(X, centres)[1].sum(dtype=np.float64))


def test_nearest_centres_by_direct_difference():
    X, centres = points(5000), points(37, seed=1)
    nearest, far = nearest_centres(X, centres)
    expected = np.square(X[:, None].astype(float) - centres[None]).sum(axis=2)
    np.testing.assert_array_equal(nearest, expected.argmin(axis=1))
    assert far == pytest.approx(expected.min(axis=1), rel=1e-3, abs=1e-3)


def test_of_equal_centres_the_first():
    assert nearest_centres(np.ones((3, 2), np.float32), np.ones((4, 2), np.float32))[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("k", [4, 40])
def test_as_good_as_scikit_learn(k):
    X = points()
    ours = spread(X, k_means(X, k, np.random.default_rng(0)))
    peer = KMeans(k, init="random", n_init=1, max_iter=25, random_state=0).fit(X).inertia_
    assert ours < 1.1 * peer


def test_centres_are_the_means_of_their_points():
    X = points(400)
    centres = k_means(X, 3, np.random.default_rng(0), rounds=200)
    nearest = nearest_centres(X, centres)[0]
    for place, centre in enumerate(centres):
        assert centre == pytest.approx(X[nearest == place].mean(axis=0), abs=0.02)


def test_as_many_centres_as_different_points_and_none_without_a_point():
    X = np.repeat(points(5), 20, axis=0)
    found = k_means(X, 9, np.random.default_rng(0))
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, points(5).tolist()))
    spot = np.concatenate([np.zeros((500, 2)), [[9, 9], [9, 8], [-9, 5]]]).astype(np.float32)
    centres = k_means(spot, 4, np.random.default_rng(1))
    assert len(np.unique(nearest_centres(spot, centres)[0])) == 4
