from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.local.local_extractor import grid_points, scaled_planes
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region


@pytest.mark.parametrize(("shape", "count"), [((60, 90), 50), ((400, 3), 64), ((1, 1), 16), ((7, 5), 1000)])
def test_a_grid_lies_inside_and_is_as_fine_as_it_may(shape, count):
    at = grid_points(np.ones(shape, dtype=bool), count)
    assert len(np.unique(at, axis=0)) == len(at) <= count
    assert len(at) >= min(shape[0] * shape[1], count) * 0.7
    assert (at >= 0).all() and (at < shape).all()


def test_a_grid_keeps_to_an_outline():
    rows, columns = np.mgrid[:80, :120]
    inside = (rows - 50) ** 2 + (columns - 40) ** 2 < 20**2
    at = grid_points(inside, 100)
    assert inside[at[:, 0], at[:, 1]].all()
    assert 70 <= len(at) <= 100
    assert at.mean(axis=0) == pytest.approx([50, 40], abs=2)


def test_an_outline_thinner_than_the_grid_is_sampled():
    inside = np.zeros((50, 50), dtype=bool)
    inside[np.arange(20), np.arange(20)] = True
    at = grid_points(inside, 8)
    assert 0 < len(at) <= 8
    assert inside[at[:, 0], at[:, 1]].all()
    assert grid_points(np.zeros((5, 9), dtype=bool), 4).tolist() == [[2, 4]]


def test_a_large_image_is_reduced_with_its_outline():
    pixels = np.zeros((800, 400), dtype=np.uint8)
    outline = Ellipse.filling(200, 400)
    planes, inside = scaled_planes(Image(pixels, 255.0), Region(100, 200, 200, 400, outline), longest=100)
    assert planes.shape == (1, 100, 50)
    assert inside.mean() == pytest.approx(np.pi / 4, abs=0.01)


def test_a_narrow_image_is_stretched_where_that_is_needed():
    planes, inside = scaled_planes(
        Image(np.zeros((2, 900, 3), np.uint8), 255.0), None, longest=300, shortest=32
    )
    assert planes.shape == (3, 32, 300)
    assert inside.shape == (32, 300)
