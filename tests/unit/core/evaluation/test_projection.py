from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.projection import (
    NeighbourMap,
    euclidean_distances,
    landmark_scaling,
    nearest_neighbours,
    neighbour_preservation,
    principal_axes,
)
from semblance.core.tasks import Cancelled
from tests.helpers.recording_reporter import RecordingReporter


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
