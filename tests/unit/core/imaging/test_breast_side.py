"""The chest wall of a mammogram lies where the outline of the breast is straight."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.breast_side import chest_wall_side
from tests.helpers.mammograms import breast


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
