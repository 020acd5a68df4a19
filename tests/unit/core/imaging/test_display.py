from __future__ import annotations

import pickle

import numpy as np
import pytest

from semblance.core.imaging.display import BINS, SMALLEST, display_image
from semblance.core.imaging.image import Image, ValueScale, ValueWindow


def noise(shape, dtype=np.uint8, most=255, seed=0):
    return np.random.default_rng(seed).integers(0, most + 1, shape).astype(dtype)


def naive_halved(pixels):
    height, width = pixels.shape
    padded = np.pad(pixels.astype(np.int64), ((0, height % 2), (0, width % 2)), mode="edge")
    out = np.empty((padded.shape[0] // 2, padded.shape[1] // 2), pixels.dtype)
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            four = padded[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            out[row, column] = (four.sum() + 2) // 4
    return out


@pytest.mark.parametrize(("dtype", "most"), [(np.uint8, 255), (np.uint16, 65535)])
@pytest.mark.parametrize("shape", [(600, 300), (301, 277), (1, 400), (257, 1)])
def test_every_level_is_the_means_of_the_one_before(dtype, most, shape):
    shown = display_image(Image(noise(shape, dtype, most), float(most)))
    assert shown.reduced == 1
    assert max(shown.levels[-1].shape) <= SMALLEST
    for level, (fine, coarse) in enumerate(zip(shown.levels, shown.levels[1:], strict=False)):
        assert shown.factor(level + 1) == 2 * shown.factor(level)
        np.testing.assert_array_equal(coarse, naive_halved(fine))


def test_colour_levels_keep_their_channels_apart():
    pixels = noise((300, 520, 3))
    shown = display_image(Image(pixels, 255.0))
    assert shown.is_colour
    for channel in range(3):
        np.testing.assert_array_equal(shown.levels[1][:, :, channel], naive_halved(pixels[:, :, channel]))


def test_colours_that_are_all_grey_are_grey():
    grey = noise((64, 48))
    shown = display_image(Image(np.repeat(grey[:, :, None], 3, axis=2), 255.0))
    assert not shown.is_colour
    np.testing.assert_array_equal(shown.levels[0], grey)


def test_one_coloured_pixel_keeps_the_colour():
    pixels = np.zeros((1200, 1100, 3), np.uint8)
    pixels[701, 333, 0] = 9
    assert display_image(Image(pixels, 255.0)).is_colour


def test_an_image_above_the_limit_is_reduced_and_says_so():
    shown = display_image(Image(noise((900, 700)), 255.0), max_bytes=200_000)
    assert shown.reduced == 2
    assert (shown.height, shown.width) == (900, 700)
    assert shown.levels[0].shape == (450, 350)
    assert shown.factor(1) == 4


def test_floats_are_stored_between_their_ends():
    pixels = np.linspace(-2.0, 3.0, 256, dtype=np.float32).reshape(16, 16)
    shown = display_image(Image(pixels, 1.0))
    stored = shown.levels[0]
    assert stored.dtype == np.uint16
    np.testing.assert_allclose(stored * shown.slope + shown.intercept, pixels, atol=shown.slope)
    assert shown.value(0) == pytest.approx(-2.0)


def test_what_is_not_a_number_is_black():
    pixels = np.array([[np.nan, -np.inf], [0.25, np.inf]], np.float32)
    pixels = np.concatenate([pixels, np.array([[1.0, 0.5]], np.float32)])
    shown = display_image(Image(pixels, 1.0))
    assert shown.levels[0].tolist() == [[0, 0], [0, 65535], [65535, 21845]]


@pytest.mark.parametrize(
    "pixels",
    [
        np.full((40, 30), 7, np.uint8),
        np.full((40, 30), 0, np.uint16),
        np.full((40, 30), 65535, np.uint16),
        np.full((40, 30), 0.5, np.float32),
        np.full((40, 30), np.nan, np.float32),
        np.zeros((1, 1), np.uint8),
    ],
)
def test_an_image_of_one_grey_has_a_window_and_a_histogram(pixels):
    shown = display_image(Image(pixels, 1.0))
    low, high = shown.auto
    assert low < high
    assert shown.low < shown.high
    assert shown.counts.shape == (BINS,)
    assert shown.counts.sum() == pixels.size


def test_the_first_window_leaves_out_the_extremes():
    pixels = np.full((100, 100), 500, np.uint16)
    pixels[::2] = 900
    pixels[0, :20], pixels[1, :20] = 0, 60_000
    low, high = display_image(Image(pixels, 65535.0)).auto
    assert (low, high) == (500, 900)


def test_a_few_bright_pixels_on_black_stay_visible():
    pixels = np.zeros((100, 100), np.uint16)
    pixels[50, 50] = 200
    assert display_image(Image(pixels, 65535.0)).auto == (0, 200)


def test_bytes_without_a_window_are_shown_as_they_are():
    pixels = np.arange(40, 140, dtype=np.uint8).reshape(10, 10)
    assert display_image(Image(pixels, 255.0)).auto == (0, 255)


def test_bins_hold_the_same_number_of_greys():
    every_grey_once = np.arange(1000, 1000 + 640, dtype=np.uint16).reshape(32, 20)
    shown = display_image(Image(every_grey_once, 65535.0))
    assert set(shown.counts.tolist()) == {10}


def test_what_is_handed_over_can_be_pickled():
    shown = display_image(Image(noise((300, 300)), 255.0, "a", (0.1, 0.2)))
    again = pickle.loads(pickle.dumps(shown))
    assert (again.name, again.spacing_mm, again.auto) == ("a", (0.1, 0.2), shown.auto)
    np.testing.assert_array_equal(again.levels[1], shown.levels[1])


def test_signed_pixels_keep_their_values_and_the_file_its_window():
    pixels = np.array([[-2000, -1000, 0, 3000]], dtype=np.int16)
    meaning = ValueScale(
        slope=2.0, intercept=10.0, unit="HU", padding=(-2000, -2000), windows=(ValueWindow(-90, 110),)
    )
    shown = display_image(Image(pixels, 1.0, values=meaning))
    assert shown.unit == "HU"
    assert [shown.value(stored) for stored in shown.levels[0][0]] == [-3990, -1990, 10, 6010]
    assert tuple(shown.value(stored) for stored in shown.auto) == (-90, 110)
    assert shown.counts.sum() == 3


def test_a_further_slice_keeps_the_scale_and_the_histogram_of_the_first():
    first = display_image(Image(np.array([[-5, 900]], dtype=np.int16), 1.0))
    second = display_image(Image(np.array([[-700, 3]], dtype=np.int16), 1.0), like=first)
    assert [second.value(stored) for stored in second.levels[0][0]] == [-700, 3]
    assert (second.low, second.high, second.auto) == (first.low, first.high, first.auto)
    assert second.counts is first.counts
