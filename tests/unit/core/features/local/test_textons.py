from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from skimage.color import rgb2lab

from semblance.core.features import make_extractor
from semblance.core.features.local.textons import BLOBS, EDGES, PACKING, SMOOTH, lab_of, responses
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region

FIRST_BLOB, FIRST_EDGE = 3 * len(SMOOTH), 3 * len(SMOOTH) + len(BLOBS)


def lightness(plane: np.ndarray) -> np.ndarray:
    return np.stack([plane, np.zeros_like(plane), np.zeros_like(plane)]).astype(np.float64)


def spot() -> np.ndarray:
    plane = np.zeros((129, 129))
    plane[64, 64] = 100.0
    return plane


def grid() -> tuple[np.ndarray, np.ndarray]:
    y, x = np.mgrid[-64:65, -64:65].astype(float)
    return y, x


def bell(sigma: float) -> np.ndarray:
    y, x = grid()
    return np.exp(-(x * x + y * y) / (2 * sigma**2)) / (2 * np.pi * sigma**2)


def test_the_filter_bank_gives_17_responses_per_pixel():
    assert responses(lightness(spot())).shape == (17, 129, 129)
    assert PACKING.values == 17


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_a_spot_is_smoothed_to_a_gaussian(place):
    expected = 100 * bell(SMOOTH[place])
    assert responses(lightness(spot()))[place] == pytest.approx(expected, abs=2e-3 * expected.max())


@pytest.mark.parametrize("place", range(len(BLOBS)))
def test_a_spot_gives_the_laplacian_of_a_gaussian(place):
    sigma = BLOBS[place]
    y, x = grid()
    expected = 100 * ((x * x + y * y) / sigma**2 - 2) * bell(sigma)
    # Sampled at whole pixels, the kernel of sigma 1 differs from the formula most.
    found = responses(lightness(spot()))[FIRST_BLOB + place]
    assert found == pytest.approx(expected, abs=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("place", range(len(EDGES)))
@pytest.mark.parametrize("axis", [0, 1])
def test_a_spot_gives_first_derivatives(place, axis):
    sigma = EDGES[place]
    expected = -100 * grid()[axis] / sigma * bell(sigma)
    found = responses(lightness(spot()))[FIRST_EDGE + 2 * place + axis]
    assert found == pytest.approx(expected, abs=0.01 * np.abs(expected).max())


@pytest.mark.parametrize("place", range(len(EDGES)))
def test_a_ramp_has_its_slope_along_it_and_none_across(place):
    ramp = np.tile(0.5 * np.arange(129.0), (129, 1))
    found = responses(lightness(ramp))[:, 64, 64]
    assert found[FIRST_EDGE + 2 * place] == pytest.approx(0, abs=1e-6)
    assert found[FIRST_EDGE + 2 * place + 1] == pytest.approx(0.5 * EDGES[place], rel=1e-3)
    assert found[FIRST_BLOB : FIRST_BLOB + 3] == pytest.approx(0, abs=0.05)


def test_of_noise_they_are_those_of_scipy():
    lab = np.random.default_rng(0).uniform(-50, 90, (3, 40, 60))
    expected = [ndimage.gaussian_filter(plane, sigma) for plane in lab for sigma in (1, 2, 4)]
    expected += [s * s * ndimage.gaussian_laplace(lab[0], s) for s in (1, 2, 4, 8)]
    expected += [
        s * ndimage.gaussian_filter1d(ndimage.gaussian_filter1d(lab[0], s, 0, 1), s, 1) for s in (2,)
    ]
    assert responses(lab)[: FIRST_EDGE + 1] == pytest.approx(np.array(expected), abs=1e-4)


def test_responses_of_any_image_stay_in_the_stored_range():
    rng = np.random.default_rng(0)
    hard = rng.integers(0, 2, (3, 90, 90)).astype(np.float32)
    hard[:, 30:60, 30:60] = 1.0
    hard[:, :, 45:50] = 0.0
    found = responses(lab_of(hard)).reshape(17, -1)
    assert (found.min(axis=1) >= np.array(PACKING.low) - 1e-3).all()
    assert (found.max(axis=1) <= np.array(PACKING.high) + 1e-3).all()
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 3), dtype=np.float32).reshape(3, 1, 8)
    lab = lab_of(corners).reshape(3, -1)
    assert (lab.min(axis=1) >= np.array(PACKING.low)[::3][:3]).all()
    assert (lab.max(axis=1) <= np.array(PACKING.high)[::3][:3]).all()


def test_colour_is_cie_lab_and_grey_has_none():
    planes = np.random.default_rng(1).random((3, 20, 30), dtype=np.float32)
    assert lab_of(planes) == pytest.approx(rgb2lab(planes.transpose(1, 2, 0)).transpose(2, 0, 1), abs=1e-4)
    grey = lab_of(planes[:1])
    assert not grey[1:].any()
    same = rgb2lab(np.repeat(planes[0][:, :, None], 3, axis=2))[:, :, 0]
    assert grey[0] == pytest.approx(same, abs=1e-4)


def test_the_responses_at_the_places_are_stored():
    pixels = np.random.default_rng(2).integers(0, 256, (12, 15, 3), dtype=np.uint8)
    stored = PACKING.unpack(make_extractor("textons").extract(Image(pixels, 255.0)))
    whole = responses(lab_of((pixels / np.float32(255)).transpose(2, 0, 1))).reshape(17, -1).T
    step = (np.array(PACKING.high) - PACKING.low) / 4095
    assert stored.shape == whole.shape
    assert (np.abs(stored - whole) <= 0.51 * step + 1e-3).all()


def test_only_places_inside_the_outline_count():
    pixels = np.zeros((100, 100), dtype=np.uint8)
    rows, columns = np.mgrid[:100, :100]
    pixels[(rows - 50) ** 2 + (columns - 50) ** 2 < 40**2] = 255
    disc = Region(0, 0, 100, 100, Ellipse((50.0, 50.0), (20.0, 20.0)))
    extractor = make_extractor("textons", points=256)
    inside = PACKING.unpack(extractor.extract(Image(pixels, 255.0), disc))
    assert len(inside) > 180
    assert inside[:, 0] == pytest.approx(100, abs=0.1)
    assert PACKING.unpack(extractor.extract(Image(pixels, 255.0)))[:, 0].min() < 1
