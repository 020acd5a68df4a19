"""Slices of a volume packed into a row of bytes."""

import numpy as np
import pytest

from semblance.core.features.places import PlaceCoding
from semblance.core.features.slice_descriptions import (
    FARTHEST_MM,
    MOST,
    MOST_WITHOUT_DISTANCE,
    ROW_BYTES,
    SliceDescriptions,
    SliceLayout,
    coded_slices,
    described_slices,
    sign_codes,
    signs,
    whole_rows,
)


def _described(count: int) -> SliceDescriptions:
    rng = np.random.default_rng(count)
    layout = SliceLayout.fitting(count, 14, 14)
    wholes = rng.integers(-127, 128, (count, layout.width)).astype(np.int8)
    side = 14 // layout.pooled
    places = rng.integers(0, 2**64, (count, side, side), dtype=np.uint64)
    return SliceDescriptions(3 + 2 * np.arange(count), wholes, places)


@pytest.mark.parametrize("depth", [1, 2, 40, 100, 300, 2000])
def test_a_packed_volume_is_read_as_it_was_and_takes_a_row_at_most(depth: int) -> None:
    given = _described(len(described_slices(depth, 5.0)))
    row = given.packed()
    assert (row.shape, row.dtype) == ((ROW_BYTES,), np.dtype(np.int8))
    found = SliceDescriptions.unpacked(row)
    for name in ("slices", "wholes", "places"):
        assert np.array_equal(getattr(found, name), getattr(given, name))
    # A CT of half a metre has all its places.
    assert (given.places.shape[1] == 14) == (depth <= 100)


def test_a_damaged_row_is_refused() -> None:
    row = _described(3).packed()
    for damaged in (np.zeros_like(row), row[:10], row[:500], np.full(100, 127, np.int8)):
        with pytest.raises(ValueError, match="row"):
            SliceDescriptions.unpacked(damaged)


@pytest.mark.parametrize("depth", [1, 2, 3, 63, 300, 2000])
@pytest.mark.parametrize("distance", [0.4, 0.625, 1.25, 3.0, 5.0, 7.0, None])
def test_described_slices_are_near_each_other_and_reach_both_ends(depth: int, distance: float | None) -> None:
    found = described_slices(depth, distance)
    assert depth // 2 in found
    steps = np.diff([-1, *found, depth])
    assert (steps >= 1).all()
    # What lies before the first and after the last is no longer than between two.
    assert steps[[0, -1]].max() <= max(steps[1:-1].max(initial=1), depth // 2 + 1)
    if distance is None:
        assert len(found) <= MOST_WITHOUT_DISTANCE
    else:
        assert len(found) <= MOST
        if len(found) < depth and depth * distance < MOST * FARTHEST_MM / 2:
            assert steps[1:-1].max(initial=0) * distance <= FARTHEST_MM


def test_slices_at_uneven_distances_are_chosen_by_where_they_lie() -> None:
    positions = np.concatenate([np.arange(0.0, 20.0, 1.0), np.arange(20.0, 60.0, 4.0), [90.0, 91.0]])
    found = described_slices(len(positions), 1.0, positions)
    gaps = np.diff(positions[found])
    assert gaps[gaps < 25.0].max() <= FARTHEST_MM
    assert len(found) < 20
    assert {len(positions) // 2, 29, 30} <= set(found.tolist())


def test_signs_keep_which_places_are_alike() -> None:
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(6, 14, 14, 32)).astype(np.float32)
    coding = PlaceCoding.fitted(maps.reshape(-1, 32), 16)
    near = maps + 0.3 * rng.normal(size=maps.shape).astype(np.float32)
    features = np.abs(rng.normal(size=(6, 50))).astype(np.float32)
    wholes, places = coded_slices(features, maps, coding, SliceLayout(1, 256))
    assert (wholes.shape, places.shape) == ((6, 256), (6, 14, 14))
    assert np.array_equal(sign_codes(signs(places, 16)), places)
    query = coding.projected(near).reshape(-1, 16)
    best = (query @ signs(places, 16).reshape(-1, 16).T).argmax(axis=1)
    assert np.mean(best == np.arange(len(query))) > 0.8
    similar = (
        whole_rows(wholes) @ whole_rows(coded_slices(features * 1.1, near, coding, SliceLayout(1, 256))[0]).T
    )
    assert np.array_equal(similar.argmax(axis=1), np.arange(6))


def test_places_of_long_volumes_are_averages() -> None:
    maps = np.random.default_rng(1).normal(size=(2, 14, 14, 8)).astype(np.float32)
    coding = PlaceCoding.fitted(maps.reshape(-1, 8), 8)
    _, places = coded_slices(maps.mean((1, 2)), maps, coding, SliceLayout(2, 128))
    assert places.shape == (2, 7, 7)
    assert places[1, 0, 3] == sign_codes(coding.projected(maps[1, 0:2, 6:8].mean((0, 1))))
