"""Codes of places keep the direction and the length of what they describe, and a grid knows what a region covers."""

from __future__ import annotations

import numpy as np

from semblance.core.features.places import PlaceCoding, PlaceGrid, unit_codes
from semblance.core.imaging.region import Region, region_of_mask


def test_codes_keep_directions_and_lengths_and_survive_the_settings() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(4000, 112)).astype(np.float32) * np.linspace(3.0, 0.1, 112, dtype=np.float32)
    coding = PlaceCoding.fitted(places)
    codes = coding.coded(places)
    projected = coding.projected(places)
    lengths = np.linalg.norm(projected, axis=1)
    cosines = (unit_codes(codes) * projected).sum(axis=1) / lengths
    assert cosines.min() > 0.998
    ratio = np.linalg.norm(codes.astype(np.float64), axis=1) / lengths
    assert abs(ratio / np.median(ratio) - 1.0).max() < 0.5
    assert np.quantile(abs(ratio / np.median(ratio) - 1.0), 0.95) < 0.02
    assert not coding.coded(coding.mean[np.newaxis]).any()
    again = PlaceCoding.from_settings(coding.to_settings())
    np.testing.assert_array_equal(again.coded(places), codes)


def test_equal_places_have_no_direction() -> None:
    places = np.ones((3, 8), dtype=np.float32)
    codes = PlaceCoding.fitted(places).coded(places)
    assert not codes.any() and not unit_codes(codes).any()


def test_a_grid_gives_the_places_mostly_inside_a_region() -> None:
    grid = PlaceGrid(2, 4, (0.0, 0.0, 80.0, 40.0))
    assert grid.places_in(Region(0, 0, 40, 40)).tolist() == [0, 1, 4, 5]
    assert grid.places_in(Region(0, 0, 33, 20)).tolist() == [0, 1]
    assert grid.places_in(Region(23, 3, 2, 2)).tolist() == [1]
    # A click is smaller than the distance of the points that stand for an area.
    assert PlaceGrid(14, 14, (0, 0, 416, 416)).places_in(Region(367, 143, 1, 1)).tolist() == [4 * 14 + 12]
    mask = np.zeros((40, 80), dtype=bool)
    mask[20:, 60:] = True
    mask[0, 0] = True
    assert grid.places_in(region_of_mask(mask)).tolist() == [7]
    assert grid.place_box(5) == (20.0, 20.0, 40.0, 40.0)
