"""Finding words (k-means) and merging them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans

from semblance.core.metrics.numerics.k_means import k_means, nearest_centres
from semblance.core.metrics.numerics.merge_words import merge_words


def points(n=3000, v=5, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, v)) + 4 * rng.integers(0, 4, (n, 1))).astype(np.float32)


def spread(X, centres):
    return float(nearest_centres(X, centres)[1].sum(dtype=np.float64))


def test_nearest_centres_by_direct_difference():
    X, centres = points(5000), points(37, seed=1)
    nearest, far = nearest_centres(X, centres)
    wanted = np.square(X[:, None].astype(float) - centres[None]).sum(axis=2)
    np.testing.assert_array_equal(nearest, wanted.argmin(axis=1))
    assert far == pytest.approx(wanted.min(axis=1), rel=1e-3, abs=1e-3)


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


def information(counts: np.ndarray) -> float:
    shares = counts / counts.sum()
    outer = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    seen = shares > 0
    return float((shares[seen] * np.log(shares[seen] / outer[seen])).sum())


def grouped(counts: np.ndarray, member: np.ndarray) -> np.ndarray:
    out = np.zeros((member.max() + 1, counts.shape[1]))
    np.add.at(out, member, counts)
    return out


def naive(counts: np.ndarray, k: int) -> np.ndarray:
    """Of all pairs the one that loses least, again and again."""
    groups = [[word] for word in range(len(counts))]
    while len(groups) > k:
        kept = {}
        for i, j in itertools.combinations(range(len(groups)), 2):
            merged = [*groups[:i], groups[i] + groups[j], *groups[i + 1 : j], *groups[j + 1 :]]
            kept[i, j] = information(np.array([counts[group].sum(axis=0) for group in merged]))
        i, j = max(kept, key=lambda pair: kept[pair])
        groups[i] += groups.pop(j)
    member = np.empty(len(counts), dtype=int)
    for number, group in enumerate(sorted(groups, key=min)):
        member[group] = number
    return member


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("findings", [2, 5])
def test_merging_is_the_greedy_choice_by_definition(seed, findings):
    counts = np.random.default_rng(seed).integers(0, 60, (14, findings)).astype(float)
    for k in (13, 8, 4, 2):
        np.testing.assert_array_equal(merge_words(counts.copy(), k), naive(counts, k))


def test_words_that_were_never_seen_are_merged_first():
    counts = np.array([[5.0, 1.0], [0.0, 0.0], [1.0, 7.0], [0.0, 0.0], [3.0, 3.0]])
    assert len(grouped(counts, merge_words(counts, 3))) == 3
    assert information(grouped(counts, merge_words(counts, 3))) == pytest.approx(
        information(counts), rel=1e-12
    )


def test_words_that_tell_the_same_are_merged_without_loss():
    kinds = np.array([[8.0, 1.0, 1.0], [1.0, 8.0, 1.0], [2.0, 2.0, 6.0]])
    counts = np.repeat(kinds, [5, 7, 3], axis=0) * np.arange(1, 16)[:, None]
    member = merge_words(counts, 3)
    np.testing.assert_array_equal(member, np.repeat([0, 1, 2], [5, 7, 3]))
    assert information(grouped(counts, member)) == pytest.approx(information(counts), rel=1e-12)
