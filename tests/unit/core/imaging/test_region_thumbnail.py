from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image as PILImage

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.imaging.region_thumbnail import region_thumbnail

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
