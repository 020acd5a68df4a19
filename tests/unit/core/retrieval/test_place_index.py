"""The index of places gives exactly what a plain loop over all places gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from semblance.core.errors import BadInput
from semblance.core.features.places import Codes, unit_codes
from semblance.core.retrieval.place_index import CodedPlaces, PlaceIndex, PlaceQuery, evenly_sampled


def _codes(n: int, p: int = 9, m: int = 6, seed: int = 0) -> Codes:
    rng = np.random.default_rng(seed)
    return rng.integers(-90, 91, (n, p, m)).astype(np.int8)


def _by_loop(codes: Codes, query: PlaceQuery) -> npt.NDArray[np.float64]:
    """The distances by their definition: a mean over the query's places of the least squared distance."""
    found = []
    for image in codes:
        units = [place / np.linalg.norm(place) if place.any() else place for place in image.astype(float)]
        total = 0.0
        for one, weight in zip(query.places.astype(float), query.weights, strict=True):
            total += weight * (2.0 - 2.0 * max(float(one @ unit) for unit in units))
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_search_gives_the_order_and_the_distances_of_a_plain_loop(weighted: bool) -> None:
    codes = _codes(70)
    codes[40] = codes[3]
    codes[41] = codes[3][::-1]
    codes[5, :4] = 0
    codes[6] = 0
    weights = np.array([0.5, 3.0, 1.0, 0.0]) if weighted else None
    query = PlaceQuery.of(codes[3, :4], weights)
    index = PlaceIndex(codes)
    expected = _by_loop(codes, query)
    order = np.lexsort((np.arange(70), expected.round(12)))
    found = index.search(query, 70)
    assert found.rows.tolist() == order.tolist()
    np.testing.assert_allclose(found.distances, expected[order], atol=1e-6)
    assert found.rows[:3].tolist() == [3, 40, 41] and found.distances[0] == found.distances[1]
    np.testing.assert_allclose(index.nearly_exact_distances(query), expected, atol=2e-5)
    few = index.search(query, 5)
    assert few.rows.tolist() == order[:5].tolist()
    np.testing.assert_array_equal(few.distances, found.distances[:5])
    np.testing.assert_array_equal(index.distances(query, few.rows), few.distances)
    allowed = np.zeros(70, dtype=bool)
    allowed[[6, 41, 5, 60]] = True
    assert (
        index.search(query, 3, allowed).rows.tolist() == [one for one in order.tolist() if allowed[one]][:3]
    )


def test_a_library_of_one_image_none_allowed_and_equal_images() -> None:
    codes = _codes(1)
    query = PlaceQuery.of(codes[0, 2:5])
    index = PlaceIndex(codes)
    assert index.search(query, 20).rows.tolist() == [0]
    assert index.search(query, 20).distances[0] == pytest.approx(0.0, abs=1e-6)
    assert not len(index.search(query, 20, np.zeros(1, dtype=bool)).rows)
    assert not len(PlaceIndex(_codes(0)).search(query, 20).rows)
    equal = PlaceIndex(np.repeat(codes, 40, axis=0))
    assert equal.search(query, 5).rows.tolist() == [0, 1, 2, 3, 4]


def test_a_query_of_places_without_direction_compares_nothing_nearer() -> None:
    codes = _codes(5)
    query = PlaceQuery.of(np.zeros((2, 6), dtype=np.int8))
    found = PlaceIndex(codes).search(query, 5)
    assert found.rows.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(found.distances, 2.0)


def test_what_does_not_fit_is_refused() -> None:
    index = PlaceIndex(_codes(5))
    with pytest.raises(BadInput, match="do not fit"):
        index.search(PlaceQuery.of(_codes(1, m=7)[0]))
    with pytest.raises(BadInput, match="do not fit"):
        index.search(PlaceQuery(np.empty((0, 6), dtype=np.float32), np.empty(0)))
    with pytest.raises(BadInput, match="filter"):
        index.search(PlaceQuery.of(_codes(1)[0]), 2, np.ones(4, dtype=bool))
    with pytest.raises(BadInput, match="codes"):
        PlaceIndex(_codes(5).astype(np.float32))


def test_candidates_are_compared_in_full_and_a_filter_makes_them_no_fewer() -> None:
    rng = np.random.default_rng(0)
    kinds = rng.integers(-60, 61, (30, 6))
    chosen = rng.integers(0, 30, (400, 9))
    codes = (kinds[chosen] + rng.integers(-12, 13, (400, 9, 6))).astype(np.int8)
    coded = CodedPlaces.made(codes, centroids=32)
    counts = np.diff(coded.starts)
    assert counts.sum() == len(coded.images) and (counts <= 400).all()
    index, exact = PlaceIndex(codes, coded=coded, candidates=120), PlaceIndex(codes)
    assert index.with_candidates(0).candidates == 0
    hits = 0
    for row in range(20):
        query = PlaceQuery.of(codes[row, :4])
        nearest, found = exact.search(query, 20), index.search(query, 20)
        np.testing.assert_array_equal(found.distances, exact.distances(query, found.rows))
        assert (np.diff(found.distances) >= 0.0).all()
        hits += len(np.intersect1d(nearest.rows, found.rows))
    assert hits / 400 > 0.9
    allowed = np.zeros(400, dtype=bool)
    allowed[200:330] = True
    found = index.search(query, 125, allowed)
    assert len(found.rows) == 125 and allowed[found.rows].all()


def test_best_matches_and_maps_say_where() -> None:
    codes = _codes(6)
    query = PlaceQuery.of(codes[2, [7, 1]])
    index = PlaceIndex(codes)
    found = index.best_matches(query, np.array([4, 2]))
    assert found.places[1].tolist() == [7, 1]
    units = unit_codes(codes).astype(np.float64)
    cosines = units[4] @ query.places.T.astype(np.float64)
    np.testing.assert_array_equal(found.places[0], cosines.argmax(axis=0))
    np.testing.assert_allclose(index.maps(query, np.array([4]))[0], cosines.mean(axis=1), atol=1e-6)
    some = index.best_matches(query, np.array([2]), [np.array([0, 3])])
    assert set(some.places[0].tolist()) <= {0, 3}


def test_large_regions_are_represented_evenly() -> None:
    assert evenly_sampled(np.arange(5), 8).tolist() == [0, 1, 2, 3, 4]
    some = evenly_sampled(np.arange(100, 296))
    assert len(np.unique(some)) == 32 and some[0] == 100 and some[-1] == 295
