"""Blank images, images whose lower or right part is missing, and the side of the chest wall in mammograms."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.image_faults import chest_wall_side, is_blank, missing_share
from tests.helpers.mammograms import breast


@pytest.fixture
def grey():
    return np.random.default_rng(0).uniform(0.3, 0.9, (100, 80)).astype(np.float32)


def test_one_grey_all_over_is_blank(grey):
    assert is_blank(np.full((50, 50), 0.5, np.float32))
    assert not is_blank(grey)
    lesion = np.zeros((100, 100), np.float32)
    lesion[40:45, 40:45] = 1
    assert not is_blank(lesion)


def test_a_band_that_ends_abruptly_is_missing(grey):
    cut = grey.copy()
    cut[70:] = 0.0
    assert missing_share(cut) == pytest.approx(0.3)
    assert missing_share(np.ascontiguousarray(cut.T)) == pytest.approx(0.3)
    assert missing_share(grey) == 0.0


def test_a_background_and_a_margin_are_not_missing(grey):
    fading = grey * np.clip(np.linspace(2, -0.5, 100), 0, 1)[:, None].astype(np.float32)
    margin = grey.copy()
    margin[:15] = margin[85:] = 0.0
    assert missing_share(fading) == 0.0
    assert missing_share(margin) == 0.0
    margin[85:] = 0.5
    assert missing_share(margin) == pytest.approx(0.15)


@pytest.mark.parametrize("margin", [0, 40])
def test_the_straight_side_is_the_chest_wall_also_beside_a_black_margin(margin):
    pixels = np.pad(breast(), ((0, 0), (margin, 0)))
    assert chest_wall_side(pixels) < -0.5
    assert chest_wall_side(np.ascontiguousarray(pixels[:, ::-1])) > 0.5


def test_an_image_that_shows_no_breast_has_no_side():
    assert chest_wall_side(np.zeros((80, 60), np.float32)) == 0.0
    assert chest_wall_side(np.ones((80, 60), np.float32)) == 0.0
    dot = np.zeros((160, 160), np.float32)
    dot[80:84, 80:84] = 1
    assert chest_wall_side(dot) == 0.0


def test_the_breasts_of_mini_mias_lie_as_their_numbers_say(data):
    import io
    import zipfile

    from PIL import Image

    with zipfile.ZipFile(data / "images" / "mias_a.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".pgm"))[:24]
        for name in names:
            pixels = np.asarray(Image.open(io.BytesIO(archive.read(name))), np.float32) / 255
            is_left = int(name[-7:-4]) % 2 == 0
            assert (chest_wall_side(pixels) < -0.3) if is_left else (chest_wall_side(pixels) > 0.3), name
