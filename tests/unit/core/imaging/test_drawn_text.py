"""Text in images is found by its shape, wherever it stands; speckle, stripes and a calliper are not text."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from semblance.core.imaging.drawn_text import drawn_text
from tests.helpers.images import stripes


def speckle(side, seed=0):
    """(side, side) uint8 as ultrasound looks: smooth noise of grey."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 160, (40, 40), dtype=np.uint8))
    return np.array(coarse.resize((side, side), Image.Resampling.BICUBIC))


def written(pixels, text, at, size, grey):
    image = Image.fromarray(pixels)
    ImageDraw.Draw(image).text(at, text, fill=grey, font=ImageFont.load_default(size=size))
    return np.asarray(image, dtype=np.float32) / 255


@pytest.mark.parametrize(
    ("side", "size", "grey", "base"), [(256, 14, 255, None), (256, 14, 0, 200), (1024, 40, 255, None)]
)
def test_a_line_of_text_is_found_where_it_stands(side, size, grey, base):
    pixels = speckle(side) if base is None else np.full((side, side), base, np.uint8)
    (line,) = drawn_text(written(pixels, "SMITH-4711", (side // 4, side // 2), size, grey))
    assert line.x == pytest.approx(side // 4, abs=size)
    assert line.y == pytest.approx(side // 2, abs=size)
    assert size // 2 <= line.height <= 2 * size
    assert line.characters >= 6


def test_images_without_text_have_none():
    calliper = speckle(256)
    calliper[100, 60:120], calliper[70:130, 90] = 255, 255
    for pixels in (speckle(256), calliper, stripes(np.random.default_rng(0), upright=True, size=256)):
        assert drawn_text(pixels.astype(np.float32) / 255) == []
    assert drawn_text(written(speckle(256), "L", (200, 10), 24, 255)) == []
