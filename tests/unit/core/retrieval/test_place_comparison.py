"""Comparisons of one query by place rank as their definitions say, and their coordinates have their distances."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval.index import Index
from semblance.core.retrieval.place_comparison import CombinedComparison, PlaceComparison
from semblance.core.retrieval.place_index import CodedPlaces, PlaceIndex, PlaceQuery
from semblance.core.retrieval.ranking import EmbeddedQuery, rank

N = 60
#: Cases 7 and 30 have no places.
ROWS = np.where(np.isin(np.arange(N), (7, 30)), -1, np.cumsum(~np.isin(np.arange(N), (7, 30))) - 1)


@pytest.fixture
def codes() -> np.ndarray:
    return np.random.default_rng(0).integers(-90, 91, (N - 2, 9, 6)).astype(np.int8)


@pytest.fixture
def comparison(codes):
    return PlaceComparison(
        PlaceIndex(codes), PlaceQuery.of(codes[5, :4], np.array([1.0, 2.0, 1.0, 0.5])), ROWS
    )


def test_positions_are_those_of_the_cases_and_those_without_places_are_left_out(comparison):
    found = comparison.search((), N)
    assert len(found.rows) == N - 2 and not np.isin(found.rows, (7, 30)).any() and found.rows[0] == 5
    np.testing.assert_array_equal(comparison.distances((), found.rows), found.distances)
    np.testing.assert_allclose(comparison.all_distances()[found.rows], found.distances, atol=2e-5)
    assert comparison.distances((), np.array([7]))[0] > found.distances[-1]
    patients = np.arange(N) // 2
    ranked = rank(comparison, EmbeddedQuery(np.empty(0), position=5, patient=2), 5, patients=patients)
    assert not np.isin(ranked.rows, (4, 5)).any() and len(ranked.rows) == 5


def test_coordinates_have_the_distances_of_the_comparison(comparison, codes):
    rows = np.array([3, 5, 50])
    apart = comparison.coordinates(rows) - comparison.query.coordinates
    np.testing.assert_allclose(np.square(apart).sum(axis=1), comparison.distances((), rows), atol=1e-6)
    np.testing.assert_array_equal(comparison.coordinates_of(codes[3]), comparison.coordinates(rows)[0])
    assert not comparison.coordinates(np.array([7])).any()


@pytest.mark.parametrize("candidates", [0, 40])
def test_both_is_the_sum_of_the_distances_over_their_deviations(codes, candidates):
    rng = np.random.default_rng(1)
    embedding = rng.normal(size=(N, 5))
    index = PlaceIndex(codes, coded=CodedPlaces.made(codes, centroids=16), candidates=candidates)
    places = PlaceComparison(index, PlaceQuery.of(codes[5, :4]), ROWS)
    both = CombinedComparison(places, Index(embedding), embedding[5], weight=0.25)
    there = np.flatnonzero(ROWS >= 0)
    by_place = places.distances((), there)
    by_metric = np.square(embedding[there] - embedding[5]).sum(axis=1)
    expected = 0.25 * by_place / by_place.std() + 0.75 * by_metric / by_metric.std()
    # The spread of the places is measured in float32.
    np.testing.assert_allclose(both.distances((), there), expected, rtol=1e-6)
    found = both.search((), 6)
    np.testing.assert_array_equal(found.rows, there[np.argsort(expected)[:6]])
    side = both.beside(places.coordinates(there), embedding[there])
    apart = side - both.beside(places.query.coordinates[np.newaxis], embedding[5][np.newaxis])
    np.testing.assert_allclose(np.square(apart).sum(axis=1), expected, atol=1e-5)
    allowed = np.zeros(N, dtype=bool)
    allowed[[7, 8]] = True
    assert both.search((), 6, allowed).rows.tolist() == [8]
