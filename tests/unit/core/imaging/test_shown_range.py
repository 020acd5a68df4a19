"""Black and white of an image that says nothing, by its kind and body part."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale, ValueWindow
from semblance.core.imaging.shown_range import as_shown


def ct(body_part="", **values):
    stored = np.arange(-1024, 3000, dtype=np.int16).reshape(8, 503)
    return Image(stored, 1024.0, black=-1024.0, values=ValueScale(unit="HU", **values), body_part=body_part)


def shown(image):
    found = as_shown(image)
    return found.black, found.white


@pytest.mark.parametrize(
    ("part", "edges"),
    [
        ("CHEST", (-1350, 150)),
        ("Thorax^Lung", (-1350, 150)),
        ("HEAD", (0, 80)),
        ("ABDOMEN", (-160, 240)),
        ("LSPINE", (-500, 1300)),
        ("", (-1024, 1024)),
        ("WHOLEBODY", (-1024, 1024)),
    ],
)
def test_ct_without_a_window_by_body_part(part, edges):
    assert shown(ct(part)) == edges


def test_the_first_window_of_the_file_comes_before_the_body_part():
    windows = (ValueWindow(-10.0, 90.0), ValueWindow(0.0, 1.0))
    assert shown(ct("CHEST", windows=windows)) == (-10, 90)
    assert shown(ct("HEAD", slope=2.0, intercept=-100.0)) == (50, 90)


def test_the_viewer_begins_with_the_same_window():
    shown_first = display_image(ct("CHEST"))
    assert [shown_first.value(stored) for stored in shown_first.auto] == [-1350, 150]


def test_sixteen_bits_lose_the_few_darkest_and_brightest_pixels():
    stored = np.full((100, 100), 500, dtype=np.uint16)
    stored[:50], stored[0, 0], stored[0, 1] = 900, 0, 60000
    assert shown(Image(stored, 60000.0)) == (500, 900)
    assert shown(Image(stored, 65535.0)) == (500, 900)
    stored[:10] = 700
    assert shown(Image(stored, 60000.0, values=ValueScale(padding=(500, 500)))) == (700, 900)


def test_images_of_a_known_range_stay_as_they_are():
    full = np.linspace(0, 65535, 10_000).astype(np.uint16).reshape(100, 100)
    for image in (
        Image(full, 65535.0),
        Image((full // 257).astype(np.uint8), 255.0),
        Image((full / 65535).astype(np.float32), 1.0),
        Image(np.zeros((4, 4, 3), np.uint16), 65535.0),
        Image(np.full((4, 4), 7, np.uint16), 100.0),
    ):
        assert as_shown(image) is image
