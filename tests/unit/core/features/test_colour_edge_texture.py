from __future__ import annotations

import colorsys
import zipfile

import numpy as np
import pytest

from semblance.core.features import make_extractor
from semblance.core.features.colour_edge_texture import (
    LONGEST_SIDE,
    direction_shares,
    hue_saturation_brightness,
    moments,
)
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.image import Image

NAMES = [feature.name for feature in make_extractor("colour_edge_texture").feature_names]
GROUPS = [feature.group for feature in make_extractor("colour_edge_texture").feature_names]


def extract(pixels, white=255.0):
    return dict(
        zip(NAMES, make_extractor("colour_edge_texture").extract(Image(pixels, white)).tolist(), strict=True)
    )


def test_nine_colours_eighteen_directions_nine_textures():
    assert GROUPS == ["Colour"] * 9 + ["Edge direction"] * 18 + ["Texture"] * 9


def test_hue_saturation_brightness_equal_colorsys():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 6, (3, 20, 25)) / 5
    ours = hue_saturation_brightness(levels.astype(np.float32))
    for y in range(20):
        for x in range(25):
            hue, saturation, brightness = colorsys.rgb_to_hsv(*levels[:, y, x])
            turns = (ours[0, y, x] - hue + 0.5) % 1.0 - 0.5
            assert abs(turns) < 1e-6
            assert ours[1:, y, x] == pytest.approx([saturation, brightness], abs=1e-6)
    assert np.abs(ours[0]).max() <= 0.5


def test_reds_lie_together():
    pink_and_orange = np.array([[[1.0, 1.0]], [[0.0, 0.3]], [[0.3, 0.0]]], dtype=np.float32)
    hue = hue_saturation_brightness(pink_and_orange)[0]
    assert hue[0] == pytest.approx([-0.05, 0.05])


def test_moments_equal_the_definition():
    channels = np.random.default_rng(1).random((3, 9, 11), dtype=np.float32) ** 3
    for channel, (mean, deviation, skewness) in zip(channels, moments(channels), strict=True):
        values = [float(value) for value in channel.ravel()]
        centre = sum(values) / len(values)
        assert mean == pytest.approx(centre, rel=1e-5)
        assert deviation**2 == pytest.approx(sum((v - centre) ** 2 for v in values) / len(values), rel=1e-4)
        assert skewness**3 == pytest.approx(sum((v - centre) ** 3 for v in values) / len(values), rel=1e-3)


def test_skewness_keeps_its_sign():
    few_bright = np.zeros((1, 10, 10), np.float32)
    few_bright[0, 0, 0] = 1
    assert moments(few_bright)[0, 2] > 0
    assert moments(1 - few_bright)[0, 2] < 0


@pytest.mark.parametrize(
    ("bright", "name"),
    [
        (np.s_[:, 20:], "Edges facing -5° to 15°"),
        (np.s_[20:], "Edges facing 75° to 95°"),
        (np.s_[:, :20], "Edges facing 175° to 195°"),
        (np.s_[:20], "Edges facing 255° to 275°"),
    ],
)
def test_an_edge_fills_the_bin_of_its_direction(bright, name):
    pixels = np.zeros((40, 40), np.uint8)
    pixels[bright] = 200
    numbers = extract(pixels)
    assert numbers[name] == pytest.approx(np.sqrt(40 / 1600))
    assert all(value == 0 for other, value in numbers.items() if "Edges" in other and other != name)


def test_shares_of_directions_are_of_the_whole_image():
    rng = np.random.default_rng(2)
    grey = np.kron(rng.random((6, 6)), np.ones((10, 10))).astype(np.float32)
    shares = direction_shares(grey)
    assert shares.shape == (18,)
    assert 0 < (shares**2).sum() < 1


def test_stripes_raise_the_texture_of_their_width_and_direction():
    x = np.arange(128)
    for level, width in enumerate((2, 4, 8), start=1):
        stripes = np.tile((x // 2 ** (level - 1) % 2 * 255).astype(np.uint8), (128, 1))
        texture = {name: value for name, value in extract(stripes).items() if name.startswith("Texture")}
        assert max(texture, key=texture.__getitem__) == f"Texture of {width} px, vertical"
        turned = {n: v for n, v in extract(stripes.T).items() if n.startswith("Texture")}
        assert max(turned, key=turned.__getitem__) == f"Texture of {width} px, horizontal"


def test_a_constant_image():
    numbers = extract(np.full((30, 50, 3), (255, 0, 0), np.uint8))
    assert numbers["Hue mean"] == 0
    assert numbers["Saturation mean"] == 1
    assert numbers["Brightness mean"] == 1
    assert all(v == 0 for n, v in numbers.items() if "deviation" in n or "skewness" in n or "Edges" in n)
    assert len({round(v, 3) for n, v in numbers.items() if n.startswith("Texture")}) == 1


def test_a_grey_image_equals_the_same_in_three_channels():
    grey = np.random.default_rng(5).integers(0, 256, (50, 70), dtype=np.uint8)
    assert extract(grey) == extract(np.repeat(grey[:, :, None], 3, axis=2))
    assert extract(grey)["Hue deviation"] == extract(grey)["Saturation mean"] == 0


def test_large_images_are_reduced():
    y, x = np.mgrid[: 4 * LONGEST_SIDE, : 2 * LONGEST_SIDE]
    large = (127 + 120 * np.sin(x / 40.0) * np.cos(y / 55.0)).astype(np.uint8)
    small = large.reshape(LONGEST_SIDE, 4, LONGEST_SIDE // 2, 4).mean(axis=(1, 3)).astype(np.uint8)
    of_large, of_small = extract(large), extract(small)
    for name in NAMES[:27]:
        assert of_large[name] == pytest.approx(of_small[name], abs=0.02)


def test_real_images_of_one_kind_lie_closer_than_of_others(data):
    container = data / "images" / "corel1k_a.zip"
    with zipfile.ZipFile(container) as entries:
        names = [name for name in entries.namelist() if name.endswith(".jpg")]
    kinds = ("dinosaurs", "flowers", "buses", "horses")
    chosen = [name for kind in kinds for name in [n for n in names if f"{kind}/" in n][:12]]
    extractor = make_extractor("colour_edge_texture")
    with ImageReader() as reader:
        numbers = np.array([extractor.extract(reader.open(ImageAddress(container, n))) for n in chosen])
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    distances = ((numbers[:, None] - numbers) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    of_kind = np.repeat(np.arange(len(kinds)), 12)
    nearest = of_kind[distances.argmin(axis=1)]
    assert (nearest == of_kind).mean() > 0.85
