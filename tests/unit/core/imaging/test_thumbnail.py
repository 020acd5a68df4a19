"""Thumbnails show the whole image; inspecting finds the size."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from PIL import Image as PILImage

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image, ValueScale, ValueWindow
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.raster import decode
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import inspect, region_thumbnail, thumbnail
from tests.helpers.bad_images import encoded, pattern


def opened(data: bytes) -> PILImage.Image:
    return PILImage.open(io.BytesIO(data))


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [(300, 400, (160, 120)), (400, 300, (120, 160)), (64, 64, (64, 64)), (1, 1, (1, 1)), (2, 4000, (160, 1))],
)
def test_fitted_and_never_enlarged(height, width, expected):
    pixels = pattern(height, width)
    assert opened(thumbnail(Image(pixels, 255.0))).size == expected
    assert opened(inspect(encoded(pixels), "a").thumbnail).size == expected
    assert opened(inspect(encoded(pixels, "JPEG"), "a").thumbnail).size == expected


def test_the_edges_are_there():
    pixels = np.zeros((320, 640), np.uint8)
    pixels[:, :40] = 255
    pixels[:, -40:] = 255
    small = np.asarray(opened(thumbnail(Image(pixels, 255.0))))
    assert small[:, 2].min() > 200
    assert small[:, -3].min() > 200
    assert small[:, 80].max() < 50


@pytest.mark.parametrize(
    "data",
    [
        encoded(pattern(200, 300)),
        encoded(pattern(200, 300, 3), "JPEG"),
        encoded(pattern(200, 300).astype(np.uint16) * 16),
        encoded(pattern(200, 300).astype(np.float32), "TIFF"),
    ],
)
def test_facts_are_those_of_the_decoded_image(data):
    assert vars(inspect(data, "a")) == {
        "width": 300,
        "height": 200,
        "thumbnail": thumbnail(decode(data, "a")),
    }


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_large_turned_jpeg_keeps_its_full_size(orientation):
    exif = PILImage.Exif()
    exif[0x0112] = orientation
    found = inspect(encoded(pattern(600, 900), "JPEG", exif=exif), "a")
    upright = (600, 900) if orientation in (6, 8) else (900, 600)
    assert (found.width, found.height) == upright
    assert opened(found.thumbnail).size == ((107, 160) if orientation in (6, 8) else (160, 107))


def test_reduced_decoding_shows_the_same():
    data = encoded(np.repeat(np.repeat(pattern(40, 60), 16, 0), 16, 1), "JPEG")
    fast = np.asarray(opened(inspect(data, "a").thumbnail)).astype(int)
    whole = np.asarray(opened(thumbnail(decode(data, "a")))).astype(int)
    assert np.abs(fast - whole).mean() < 3


def test_twelve_bits_on_a_sixteen_bit_scale_are_not_black():
    dark = pattern(50, 50).astype(np.uint16) * 16
    for pixels, white in ((dark, 65535.0), ((dark / 65535).astype(np.float32), 1.0)):
        small = np.asarray(opened(thumbnail(Image(pixels, white))))
        assert small.min() < 30
        assert small.max() > 225


def test_a_constant_deep_image_shows_its_own_grey():
    half = np.full((9, 9), 32768, np.uint16)
    assert abs(int(np.asarray(opened(thumbnail(Image(half, 65535.0))))[4, 4]) - 127) < 3


def test_no_word_of_the_original_goes_along():
    exif = PILImage.Exif()
    exif[0x010E] = "Jane Doe 1950"
    for pixels in (pattern(64, 64), pattern(640, 640)):
        data = encoded(pixels, "JPEG", exif=exif, comment=b"Jane Doe")
        assert b"Jane" in data
        assert b"Jane" not in inspect(data, "a").thumbnail


def test_real_images(data):
    with zipfile.ZipFile(data / "images" / "corel1k_a.zip") as archive:
        found = inspect(archive.read("africa/0.jpg"), "africa/0.jpg")
    assert (found.width, found.height) == (256, 384)
    assert len(found.thumbnail) < 10_000


def _shown(image: Image) -> np.ndarray:
    with PILImage.open(io.BytesIO(thumbnail(image))) as opened_thumbnail:
        return np.asarray(opened_thumbnail.convert("L")).astype(int)


def test_the_window_of_a_file_is_the_thumbnails():
    ramp = np.tile(np.arange(0, 4096, 32, dtype=np.int16), (32, 1))
    values = ValueScale(1.0, -1024.0, "HU", windows=(ValueWindow(-24.0, 976.0),))
    shown = _shown(Image(ramp, 2048.0, values=values))
    stored = np.arange(0, 4096, 32)
    np.testing.assert_allclose(shown[16], np.clip((stored - 1000) / 1000, 0, 1) * 255, atol=6)


def test_what_is_dark_where_numbers_are_high_is_shown_so():
    ramp = np.tile(np.arange(256, dtype=np.uint8), (16, 1))
    plain, inverse = (_shown(Image(ramp, 255.0, values=ValueScale(inverse=i))) for i in (False, True))
    np.testing.assert_allclose(inverse, 255 - plain, atol=4)


def test_padding_does_not_take_part_in_the_window():
    pixels = np.full((32, 32), -2000, np.int16)
    pixels[8:24, 8:24] = np.arange(256).reshape(16, 16)
    shown = _shown(Image(pixels, 255.0, values=ValueScale(padding=(-2000, -2000))))
    assert shown[22, 22] > 220
    assert shown[1, 1] < 16


def test_floats_nearer_to_each_other_than_single_precision_can_part_are_shown():
    pixels = np.full((20, 30), 1e-42, np.float32)
    pixels[:10] = 2e-42
    assert PILImage.open(io.BytesIO(thumbnail(Image(pixels, 1.0)))).size == (30, 20)


LINE = (185, 179, 255)


def pixels(region: Region, longest: int = 100) -> np.ndarray:
    image = Image(np.full((80, 100), 90, np.uint8), 255.0, "grey")
    with PILImage.open(io.BytesIO(region_thumbnail(image, region, longest))) as shown:
        return np.asarray(shown.convert("RGB"))


def on_line(shown: np.ndarray) -> np.ndarray:
    return (shown == LINE).all(axis=2)


def test_the_outline_of_a_rectangle_is_on_its_edge_only():
    line = on_line(pixels(Region(10, 20, 30, 40)))
    expected = np.zeros((80, 100), bool)
    expected[20:60, 10:40] = True
    expected[21:59, 11:39] = False
    assert np.array_equal(line, expected)


def test_an_ellipse_is_outlined_as_one_also_when_made_small():
    region = Region(10, 20, 60, 40, Ellipse.filling(60, 40))
    line = on_line(pixels(region, 50))
    rows, columns = np.nonzero(line)
    away = ((columns + 0.5) * 2 - 40) ** 2 / 30**2 + ((rows + 0.5) * 2 - 40) ** 2 / 20**2
    assert len(rows) > 40
    assert np.all((away > 0.7) & (away < 1.35))


def test_a_region_outside_the_image_is_refused():
    with pytest.raises(BadInput, match="outside"):
        pixels(Region(500, 500, 9, 9))
