"""Slices of a volume packed into a row of bytes."""

import numpy as np
import pytest

from semblance.core.features.slice_descriptions import (
    FARTHEST_MM,
    MOST,
    MOST_WITHOUT_DISTANCE,
    ROW_BYTES,
    SliceDescriptions,
    described_slices,
)


def _described(count: int, step: int = 1) -> SliceDescriptions:
    rng = np.random.default_rng(count)

    def codes(*shape: int) -> np.ndarray:
        return rng.integers(-127, 128, shape).astype(np.int8)

    slices = 3 + 2 * np.arange(count)
    return SliceDescriptions(slices, codes(count, 128), codes(-(-count // step), 7, 7, 32), step)


@pytest.mark.parametrize("count", [1, 2, 40, 110, MOST])
def test_a_packed_volume_is_read_as_it_was_within_its_bytes(count: int) -> None:
    given = _described(count)
    row = given.packed()
    assert (row.shape, row.dtype) == ((ROW_BYTES,), np.dtype(np.int8))
    found = SliceDescriptions.unpacked(row)
    assert np.array_equal(found.slices, given.slices)
    assert np.array_equal(found.wholes, given.wholes)
    # Where not all places fit, those of evenly spread slices are kept.
    assert np.array_equal(found.places, given.places[found.placed])
    assert found.step == (1 if count <= 110 else 5)


def test_a_damaged_row_is_refused() -> None:
    row = _described(3).packed()
    for damaged in (np.zeros_like(row), row[:20], row[:500], np.full(100, 127, np.int8)):
        with pytest.raises(ValueError, match="row"):
            SliceDescriptions.unpacked(damaged)


@pytest.mark.parametrize("depth", [1, 2, 3, 63, 300, 2000])
@pytest.mark.parametrize("distance", [0.4, 0.625, 1.25, 3.0, 5.0, 7.0, None])
def test_described_slices_are_near_each_other_and_reach_both_ends(depth: int, distance: float | None) -> None:
    found = described_slices(depth, distance)
    assert depth // 2 in found
    steps = np.diff([-1, *found, depth])
    assert (steps >= 1).all()
    if distance is None:
        assert len(found) <= MOST_WITHOUT_DISTANCE
    else:
        assert len(found) <= MOST
        if len(found) < depth and depth * distance < MOST * FARTHEST_MM / 2:
            assert steps[1:-1].max(initial=0) * distance <= FARTHEST_MM


def test_only_the_slices_of_a_region_are_described() -> None:
    assert described_slices(100, 1.0, 40, 52).tolist() == [41, 46, 51]
    assert described_slices(100, 5.0, 99, 103).tolist() == [99]
