"""A shift in the plane is found in mm, also between images of other pixel sizes, and a poor match is said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift, zoom

from semblance.core.imaging.in_plane_shift import ShownGreys, in_plane_shift


def _image(seed=0, side=200):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side - 0.5
    body = ((x / 0.4) ** 2 + (y / 0.3) ** 2 < 1) * (
        0.4 + 0.6 * gaussian_filter(rng.random((side, side)), 4) * 4 % 1
    )
    return body.astype(np.float32)


def test_a_shift_is_found_in_mm():
    one = _image()
    moved = shift(one, (6, -9), order=1) + np.random.default_rng(1).normal(0, 0.02, one.shape).astype(
        np.float32
    )
    found = in_plane_shift(ShownGreys(one, (0.8, 0.8)), ShownGreys(moved, (0.8, 0.8)))
    assert found.is_mm
    assert (found.down, found.right) == (pytest.approx(-4.8, abs=0.3), pytest.approx(7.2, abs=0.3))
    assert found.match > 0.95 > found.before
    assert found.is_registered
    # The same image with half as many pixels, of twice the size.
    half = zoom(moved, 0.5, order=1)
    coarse = in_plane_shift(ShownGreys(one, (0.8, 0.8)), ShownGreys(half, (1.6, 1.6)))
    assert (coarse.down, coarse.right) == (pytest.approx(-4.8, abs=0.8), pytest.approx(7.2, abs=0.8))


def test_without_distances_the_shift_is_a_share_of_the_image():
    one = _image()
    found = in_plane_shift(ShownGreys(one, None), ShownGreys(shift(one, (10, 0), order=1), (1.0, 1.0)))
    assert not found.is_mm
    assert found.down == pytest.approx(-0.05, abs=0.005)


def test_images_that_do_not_fit_are_not_registered():
    found = in_plane_shift(ShownGreys(_image(1), None), ShownGreys(np.rot90(_image(2)).copy(), None))
    assert not found.is_registered
    assert found.match >= found.before
    flat = np.zeros((20, 30), np.float32)
    assert in_plane_shift(ShownGreys(flat, None), ShownGreys(flat, None)).match == 0.0
