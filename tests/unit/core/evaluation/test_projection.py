from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.projection import (
    NeighbourMap,
    attraction,
    euclidean_distances,
    gradient,
    landmark_scaling,
    nearest_neighbours,
    neighbour_preservation,
    principal_axes,
    repulsion,
    rounds,
)
from semblance.core.tasks import Cancelled
from tests.helpers.recording_reporter import RecordingReporter


def _near(rows, k):
    away = ((rows[:, None] - rows) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    near = np.argsort(away, axis=1)[:, :k]
    return near, np.take_along_axis(away, near, axis=1)


def _table(attracted):
    n = len(attracted)
    full = np.zeros((n, n))
    for i in range(n):
        for e in range(attracted.starts[i], attracted.starts[i + 1]):
            full[i, attracted.columns[e]] += attracted.weights[e]
    return full


def test_every_case_has_the_requested_perplexity():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 5)) * rng.uniform(0.1, 10, (80, 1))
    near, away = _near(rows, 79)
    # Symmetrised rows lose it: one case alone keeps its own.
    full = _table(attraction(near, away, perplexity=20.0))
    assert full.sum() == pytest.approx(1.0)
    assert np.allclose(full, full.T)
    shifted = away[0] - away[0, 0]
    low, high = 0.0, 1e6
    for _ in range(200):
        beta = (low + high) / 2
        p = np.exp(-beta * shifted)
        p /= p.sum()
        entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
        low, high = (beta, high) if entropy > np.log(20.0) else (low, beta)
    one_way = np.zeros((80, 80))
    for i in range(80):
        s = away[i] - away[i, 0]
        low, high = 0.0, 1e6
        for _ in range(200):
            beta = (low + high) / 2
            p = np.exp(-beta * s)
            p /= p.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (beta, high) if entropy > np.log(20.0) else (low, beta)
        one_way[i, near[i]] = p
    assert np.allclose(full, (one_way + one_way.T) / 160, atol=1e-6)


@pytest.mark.parametrize("spread", [1e-4, 1.0, 6.0])
def test_the_repulsion_is_that_summed_over_all_pairs(spread):
    y = np.random.default_rng(1).normal(size=(300, 2)) * spread
    away = y[:, None] - y
    w = 1 / (1 + (away**2).sum(axis=2))
    np.fill_diagonal(w, 0)
    expected = (w[:, :, None] ** 2 * away).sum(axis=1)
    push, total = repulsion(y)
    assert total == pytest.approx(w.sum(), rel=0.005)
    assert np.abs(push - expected).max() <= 0.08 * np.abs(expected).max()
    assert np.abs(push - expected).mean() <= 0.03 * np.abs(expected).mean()


def test_the_gradient_is_that_of_the_divergence():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 4))
    table = attraction(*_near(rows, 59), perplexity=15.0)
    p, y = _table(table), rng.normal(size=(60, 2))

    def divergence(at):
        w = 1 / (1 + ((at[:, None] - at) ** 2).sum(axis=2))
        np.fill_diagonal(w, 0)
        there = p > 0
        return (p[there] * np.log(p[there] / (w / w.sum())[there])).sum()

    found = gradient(table, y)
    for case, axis in ((0, 0), (17, 1), (59, 0)):
        step = np.zeros_like(y)
        step[case, axis] = 1e-5
        slope = (divergence(y + step) - divergence(y - step)) / 2e-5
        assert found[case, axis] == pytest.approx(slope, abs=0.03 * np.abs(found).max())


@pytest.mark.slow
def test_neighbour_preservation_is_that_of_scikit_learn():
    from sklearn.datasets import load_digits
    from sklearn.manifold import TSNE, trustworthiness

    rows = load_digits().data[:400]
    start = (rows - rows.mean(axis=0)) @ np.linalg.svd(rows - rows.mean(axis=0))[2][:2].T
    y = list(rounds(attraction(*_near(rows, 90)), start, 500))[-1]
    ours = trustworthiness(rows, y, n_neighbors=10)
    theirs = trustworthiness(rows, TSNE(init="pca", random_state=0).fit_transform(rows), n_neighbors=10)
    assert ours >= theirs - 0.01
    assert ours > trustworthiness(rows, start, n_neighbors=10) + 0.1


def test_equal_and_few_cases():
    rows = np.zeros((8, 3))
    rows[4:] = 1.0
    y = list(rounds(attraction(*_near(rows, 7)), np.zeros((8, 2)), 60))[-1]
    assert np.isfinite(y).all()


def _blobs(n=300, m=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(5, m)) * 6
    return centres[rng.integers(0, 5, n)] + rng.normal(size=(n, m))


def test_principal_axes():
    from sklearn.decomposition import PCA

    rows = _blobs()
    plane = principal_axes(rows)
    expected = PCA(2).fit(rows)
    assert plane.share == pytest.approx(expected.explained_variance_ratio_.sum())
    for axis in range(2):
        along = expected.transform(rows)[:, axis]
        assert np.abs(np.corrcoef(plane.places[:, axis], along)[0, 1]) == pytest.approx(1.0)
        assert plane.places[:, axis].std() == pytest.approx(along.std())


def test_projection_of_one_coordinate_and_of_equal_cases():
    assert np.allclose(principal_axes(np.arange(5.0)[:, None]).places[:, 1], 0)
    still = principal_axes(np.ones((4, 3)))
    assert np.allclose(still.places, 0)
    assert still.share is None


def test_landmark_scaling_recovers_a_plane():
    flat = np.random.default_rng(3).normal(size=(400, 2)) * [5, 2]

    def between(a, b):
        return ((flat[a][:, None] - flat[b]) ** 2).sum(axis=2)

    plane = landmark_scaling(400, between)
    assert plane.share == pytest.approx(1.0)
    found = ((plane.places[:, None] - plane.places) ** 2).sum(axis=2)
    assert np.allclose(found, between(np.arange(400), np.arange(400)), atol=1e-6)


def test_distances_and_neighbours_are_those_of_all_pairs():
    rows = _blobs(120)
    between = euclidean_distances(rows)
    full = ((rows[:, None] - rows) ** 2).sum(axis=2)
    every = np.arange(120)
    assert np.allclose(between(every, every), full, atol=1e-3)
    among = np.arange(0, 120, 2)
    near, away = nearest_neighbours(np.arange(10), among, 4, between)
    for query in range(10):
        expected = [p for p in np.argsort(full[query, among], kind="stable") if among[p] != query][:4]
        assert near[query].tolist() == expected
        assert np.allclose(away[query], full[query, among[expected]], atol=1e-3)


@pytest.mark.slow
def test_cases_beyond_the_sample_lie_between_their_nearest():
    rows = _blobs(300)
    grown = NeighbourMap(principal_axes(rows).places, euclidean_distances(rows), maximum=120)
    assert len(grown.moved) == 120
    places = list(grown.grow())[-1]()
    assert np.isfinite(places).all()
    full = ((rows[:, None] - rows) ** 2).sum(axis=2)
    for case in np.setdiff1d(np.arange(300), grown.moved)[:20]:
        near = grown.moved[np.argsort(full[case, grown.moved])[:5]]
        low, high = places[near].min(axis=0), places[near].max(axis=0)
        assert (places[case] >= low - 1e-9).all()
        assert (places[case] <= high + 1e-9).all()
    again = NeighbourMap(principal_axes(rows).places, euclidean_distances(rows), maximum=120)
    assert np.array_equal(again.moved, grown.moved)


def test_neighbour_preservation_of_a_plane_and_of_a_random_map():
    flat = np.random.default_rng(4).normal(size=(150, 2))
    assert neighbour_preservation(flat, euclidean_distances(flat)) == 1.0
    chance = neighbour_preservation(np.random.default_rng(5).normal(size=(150, 2)), euclidean_distances(flat))
    assert chance < 0.2
    assert neighbour_preservation(flat[:11], euclidean_distances(flat[:11])) is None


def test_finding_neighbours_can_be_cancelled():
    rows = _blobs(3000)
    with pytest.raises(Cancelled):
        NeighbourMap(
            principal_axes(rows).places,
            euclidean_distances(rows),
            maximum=3000,
            reporter=RecordingReporter(cancel_after=1),
        )


@pytest.mark.slow
def test_a_map_is_wide_and_not_mirrored():
    rows = _blobs(150)
    first = principal_axes(rows).places
    places = list(NeighbourMap(first, euclidean_distances(rows), maximum=150).grow())[-1]()
    spread = np.cov(places.T)
    assert abs(spread[0, 1]) < 1e-6 * spread[0, 0]
    assert spread[0, 0] >= spread[1, 1]
    assert ((places * first).sum(axis=0) >= 0).all()
