"""Shapes of regions: their pixels, stored and read back, and cut off by the image's edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.draw import polygon2mask

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region, region_of_mask


def test_an_ellipse_has_the_area_of_an_ellipse():
    region = Region(10, 20, 80, 40, Ellipse.filling(80, 40))
    assert region.mask(100, 120).sum() == pytest.approx(np.pi * 40 * 20, rel=0.01)


def test_a_polygon_has_the_pixels_whose_middles_it_holds():
    corners = ((3.2, 1.1), (30.7, 8.3), (22.4, 27.9), (12.0, 14.0), (2.5, 26.2))
    ours = Region(0, 0, 32, 30, Polygon(corners)).mask(30, 32)
    theirs = polygon2mask((30, 32), [(y - 0.5, x - 0.5) for x, y in corners])
    assert np.array_equal(ours, theirs)


@given(arrays(np.bool_, st.tuples(*[st.integers(1, 7)] * 3)))
def test_a_mask_comes_back_from_its_runs(block):
    assert np.array_equal(MaskOutline.of(block).voxels(), block)


@given(arrays(np.bool_, (9, 11)).filter(np.any))
def test_the_region_of_a_mask_has_its_pixels(mask):
    assert np.array_equal(region_of_mask(mask).mask(9, 11), mask)


@pytest.mark.parametrize(
    "outline",
    [
        None,
        Ellipse.filling(30, 20),
        Polygon(((1.0, 2.0), (29.0, 5.0), (11.0, 19.0))),
        MaskOutline.of(np.random.default_rng(1).random((20, 30)) < 0.5),
    ],
)
def test_what_the_edge_cuts_off_leaves_the_rest_in_place(outline):
    inside = Region(40, 40, 30, 20, outline)
    whole = inside.mask(100, 100)
    for right, down in ((-55, 0), (45, 50), (-45, -45), (0, 0)):
        moved = Region(40 + right, 40 + down, 30, 20, outline).mask(100, 100)
        expected = np.zeros_like(whole)
        rows, columns = np.nonzero(whole)
        is_inside = (
            (rows + down >= 0) & (rows + down < 100) & (columns + right >= 0) & (columns + right < 100)
        )
        expected[rows[is_inside] + down, columns[is_inside] + right] = True
        assert np.array_equal(moved, expected)


@pytest.mark.parametrize(
    "region",
    [
        Region(1, 2, 3, 4),
        Region(1, 2, 30, 20, Ellipse.filling(30, 20), z=4),
        Region(1, 2, 30, 20, Polygon(((1.5, 2.0), (29.0, 5.0), (11.0, 19.0)))),
        region_of_mask(np.random.default_rng(2).random((3, 8, 9)) < 0.3, z=5),
    ],
)
def test_regions_are_stored_and_read_back(region):
    assert Region.from_json(region.to_json()) == region


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "star", "x": 1, "y": 1, "width": 1, "height": 1},
        {"kind": "polygon", "points": [[1, 1]], "x": 1, "y": 1, "width": 1, "height": 1},
        {"kind": "mask", "shape": [1, 2, 2], "runs": [1, 2], "x": 1, "y": 1, "width": 2, "height": 2},
        {"kind": "mask", "shape": [1, 2, 2], "runs": [-1, 5], "x": 1, "y": 1, "width": 2, "height": 2},
        {"kind": "rectangle", "x": 1},
        {"x": float("inf"), "y": 1, "width": 1, "height": 1},
        {"kind": "mask", "shape": [1, 2, 2], "runs": [1e999], "x": 1, "y": 1, "width": 2, "height": 2},
        {"kind": "ellipse", "centre": [1e999, 2], "radii": [1, 1], "x": 1, "y": 1, "width": 2, "height": 2},
    ],
)
def test_damaged_regions_are_refused(data):
    with pytest.raises(BadInput, match=r"region.*damaged"):
        Region.from_json(data)


def test_a_region_of_several_slices_keeps_its_place():
    mask = np.zeros((4, 6, 7), dtype=np.bool_)
    mask[1:3, 2:5, 3:6] = True
    region = region_of_mask(mask, z=10)
    assert (region.x, region.y, region.width, region.height, region.z, region.depth) == (3, 2, 3, 3, 11, 2)
    assert region.middle_slice == 12


def test_an_empty_mask_is_no_region():
    with pytest.raises(BadInput, match="empty"):
        region_of_mask(np.zeros((4, 4), dtype=np.bool_))


def test_a_region_of_a_volume_lies_on_its_own_slices_with_its_own_pixels():
    block = np.zeros((3, 6, 7), dtype=np.bool_)
    block[0, 1:3, 1:4] = block[2, 3:5, 2:6] = True
    region = region_of_mask(block, z=4)
    assert region.on_slice(3) is None
    assert region.on_slice(5) is None
    assert np.array_equal(region.on_slice(4).mask(6, 7), block[0])
    assert np.array_equal(region.on_slice(6).mask(6, 7), block[2])
    plain = Region(1, 1, 2, 2)
    assert plain.on_slice(9) is plain
