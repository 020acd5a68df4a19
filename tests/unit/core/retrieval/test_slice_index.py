"""Images and volumes searched together by place."""

import itertools

import numpy as np
import pytest

from semblance.core.features.places import PlaceCoding
from semblance.core.features.slice_descriptions import SliceDescriptions, SliceLayout, coded_slices
from semblance.core.retrieval.place_index import PlaceIndex, PlaceQuery
from semblance.core.retrieval.slice_index import SliceIndex, SlicesInSpace, VolumeQuery, _in_order

WIDTH = 32


@pytest.fixture(scope="module")
def world():
    """Eight images, of which numbers 2 and 5 represent volumes of 20 and 30 slices on grids of 14 and 7; the maps of
    the slices, and the coding."""
    rng = np.random.default_rng(3)
    images = rng.normal(size=(8, 14, 14, WIDTH)).astype(np.float32)
    coding = PlaceCoding.fitted(images.reshape(-1, WIDTH), WIDTH)
    volumes, maps = [], []
    for count, pooled in ((20, 1), (30, 2)):
        # Parts of 2 x 2 places are alike, so that their average is, too.
        coarse = rng.normal(size=(count, 7, 7, WIDTH)).repeat(2, axis=1).repeat(2, axis=2).astype(np.float32)
        wholes, places = coded_slices(coarse.mean(axis=(1, 2)), coarse, coding, SliceLayout(pooled, 128))
        volumes.append(SliceDescriptions(10 + 3 * np.arange(count), wholes, places))
        maps.append(coarse)
    plain = PlaceIndex(coding.coded(images).reshape(8, 196, WIDTH))
    return SliceIndex(plain, SlicesInSpace.of(volumes), {2: 0, 5: 1}), plain, maps, coding


def _query(maps, coding, noise=0.5):
    near = maps + noise * np.random.default_rng(9).normal(size=maps.shape).astype(np.float32)
    return PlaceQuery.of(coding.coded(near.reshape(-1, WIDTH)))


@pytest.mark.parametrize(("row", "volume", "number"), [(2, 0, 13), (5, 1, 28)])
def test_a_region_finds_the_slice_and_the_place_it_was_cut_from(world, row, volume, number):
    index, _, maps, coding = world
    query = _query(maps[volume][number][4:8, 6:10], coding)
    found = index.search(query, 3)
    assert found.rows[0] == row
    assert index.slice_numbers(query, found.rows)[0] == 10 + 3 * number
    assert index.slice_numbers(query, np.array([0, row])) == [None, 10 + 3 * number]
    places = index.best_matches(query, np.array([row])).places[0]
    rows, columns = np.divmod(places, 14)
    assert np.mean((rows >= 4) & (rows < 8) & (columns >= 6) & (columns < 10)) > 0.9
    assert index.distances(query, found.rows) == pytest.approx(found.distances)
    assert index.nearly_exact_distances(query)[found.rows] == pytest.approx(found.distances, abs=1e-4)
    assert 0.0 <= found.distances[0] < 1.0


def test_images_are_ranked_as_without_volumes(world):
    index, plain, *_ = world
    query = PlaceQuery.of(plain.codes_of(6)[40:60])
    assert index.search(query, 1).rows[0] == 6
    images = np.array([0, 1, 3, 4, 6, 7])
    assert np.array_equal(index.distances(query, images), plain.distances(query, images))
    without = np.ones(8, dtype=bool)
    without[[2, 6]] = False
    assert not {2, 6} & set(index.search(query, 8, without).rows.tolist())
    assert len(index.search(query, 8, without).rows) == 6


def test_the_same_slice_is_at_no_distance_and_marks_see_its_places(world):
    index, _, maps, coding = world
    query = _query(maps[0][7], coding, 0.0)
    assert index.distances(query, np.array([2]))[0] == pytest.approx(0.0, abs=1e-6)
    coordinates = index.matched(query, np.array([2, 0]))
    assert coordinates.shape == (2, query.places.size)
    apart = ((coordinates - np.asarray(query.coordinates)) ** 2).sum(axis=1)
    assert apart[0] < apart[1]


def _volume_query(index, volume, slices, shown, *, in_order):
    places = _query(np.zeros((2, WIDTH), np.float32), PlaceCoding(np.zeros(WIDTH), np.eye(WIDTH), 1.0), 1.0)
    wholes = index.slices.wholes_of(volume)[slices]
    return VolumeQuery(places.places, places.weights, wholes, shown, in_order)


@pytest.mark.parametrize("step", [1, -1])
def test_a_volume_in_order_finds_its_slices_in_either_direction(world, step):
    index, *_ = world
    query = _volume_query(index, 1, np.arange(5, 25, 3)[::step], 2, in_order=True)
    found = index.search(query, 2, index.has_slices)
    assert found.rows[0] == 5
    assert found.distances[0] == pytest.approx(0.0, abs=1e-6)
    assert index.slice_numbers(query, found.rows)[0] == 10 + 3 * np.arange(5, 25, 3)[::step][2]


def test_out_of_their_order_slices_match_anywhere_only(world):
    index, *_ = world
    mixed = np.array([20, 3, 28, 9, 15, 0])
    anywhere, in_order = (
        index.distances(_volume_query(index, 1, mixed, 0, in_order=one), np.array([5]))[0]
        for one in (False, True)
    )
    assert anywhere == pytest.approx(0.0, abs=1e-6)
    assert in_order > 0.3


def test_the_best_order_is_that_of_all_orders():
    rng = np.random.default_rng(1)
    similar = rng.uniform(-1, 1, (3, 4, 5)).astype(np.float32)
    paths = list(itertools.combinations_with_replacement(range(5), 4))
    both = paths + [one[::-1] for one in paths]
    for shown in range(4):
        slices, means = _in_order(similar, shown)
        for at in range(3):
            sums = [similar[at, np.arange(4), list(one)].sum() for one in both]
            assert means[at] == pytest.approx(max(sums) / 4, abs=1e-6)
            assert slices[at] == both[int(np.argmax(sums))][shown]
