from __future__ import annotations

import math

import numpy as np
import pytest
from skimage.data import camera
from skimage.feature import SIFT

from semblance.core.features import make_extractor
from semblance.core.features.local.visual_words import DENSE_SCALES, PACKING, SHORTEST_SIDE, sift
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region


def grey() -> np.ndarray:
    return camera()[100:292, 150:406].astype(np.float64) / 255


def everywhere(image: np.ndarray) -> np.ndarray:
    return np.ones(image.shape, dtype=bool)


def test_half_are_interest_points_as_scikit_image_describes_them():
    image = grey()
    found = sift(image, everywhere(image), 4096)
    peer = SIFT(upsampling=1)
    peer.detect_and_extract(image)
    assert 50 < len(peer.descriptors) < 2048
    np.testing.assert_array_equal(found[: len(peer.descriptors)], peer.descriptors)


def test_grid_descriptors_are_not_rotated():
    """A wave along x has gradients along x only, so two opposite bins hold all."""
    wave = np.tile(0.5 + 0.4 * np.sin(np.arange(160) / 6.0), (160, 1))
    on_the_grid = sift(wave, everywhere(wave), 64)[32:]
    shares = on_the_grid.reshape(-1, 16, 8).astype(float).sum(axis=(0, 1))
    one, other = np.argsort(shares)[-2:]
    assert abs(one - other) == 4
    assert shares[[one, other]].sum() > 0.95 * shares.sum()


def checks() -> np.ndarray:
    rows, columns = np.mgrid[:160, :200]
    return np.where((rows // 20 + columns // 25) % 2, 0.9, 0.1)


@pytest.mark.parametrize("image", [grey(), checks(), checks() * 0.5 + np.eye(160, 200) * 0.4, np.eye(96)])
def test_descriptors_have_at_most_the_length_they_are_brought_to(image):
    lengths = np.linalg.norm(sift(image, everywhere(image), 512).astype(float), axis=1)
    assert lengths.max() <= 512
    assert np.median(lengths) > 450


def test_of_too_many_interest_points_every_scale_stays():
    image = grey()
    peer = SIFT(upsampling=1)
    peer.detect(image)
    few = sift(image, everywhere(image), 40)
    assert len(few) <= 40
    peer.extract(image)
    known = {row.tobytes(): sigma for row, sigma in zip(peer.descriptors, peer.sigmas, strict=True)}
    sigmas = [known[row.tobytes()] for row in few if row.tobytes() in known]
    assert len(sigmas) == 20
    assert np.median(sigmas) == pytest.approx(np.median(peer.sigmas), rel=0.25)
    assert max(sigmas) > np.quantile(peer.sigmas, 0.9)


@pytest.mark.parametrize("points", [16, 17, 256])
def test_a_row_has_a_fixed_number_of_places_and_is_nearly_full(points):
    row = make_extractor("visual_words", points=points).extract(Image(camera(), 255.0))
    assert row.shape == (points * 43,)
    assert 0.75 * points <= PACKING.places(row[None]).sum() <= points


def test_only_places_inside_the_outline_are_described():
    """Left of the outline all is stripes, inside it is flat: nothing but zeros may be described."""
    pixels = np.full((120, 240), 100, dtype=np.uint8)
    pixels[:, (np.arange(240) // 4 % 2 == 0) & (np.arange(240) < 100)] = 200
    extractor = make_extractor("visual_words", points=64)
    whole = PACKING.unpack(extractor.extract(Image(pixels, 255.0)))
    assert whole.any(axis=1).mean() > 0.3
    right = Region(0, 0, 240, 120, Ellipse((200.0, 60.0), (14.0, 14.0)))
    inside = PACKING.unpack(extractor.extract(Image(pixels, 255.0), right))
    assert len(inside) > 16
    assert not inside.any()


def test_a_flat_image_is_described_by_zeros():
    descriptors = PACKING.unpack(
        make_extractor("visual_words").extract(Image(np.full((90, 90), 7, np.uint8), 255.0))
    )
    assert len(descriptors) > 200
    assert not descriptors.any()


def test_brightness_and_contrast_do_not_matter():
    image = grey() * 0.5
    first = sift(image, np.zeros(image.shape, dtype=bool), 16)
    again = sift(image * 1.7 + 0.1, np.zeros(image.shape, dtype=bool), 16)
    assert len(first) == len(DENSE_SCALES)
    assert np.abs(first.astype(int) - again).max() <= 1


def test_the_smallest_image_has_an_octave():
    assert math.log2(SHORTEST_SIDE / 12) > 0
