from __future__ import annotations

import colorsys
import math
import zipfile

import numpy as np
import pytest

from semblance.core.features import make_extractor
from semblance.core.features.colour_edge_texture import (
    HIGH,
    LONGEST_SIDE,
    LOW,
    details,
    direction_shares,
    edge_directions,
    gradients,
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


SMOOTH = np.array([1, 4, 6, 4, 1]) / 16
WEAK, STRONG = 0.02, 0.05


def naive_gradients(grey):
    height, width = grey.shape
    beyond = np.pad(grey.astype(np.float64), 3, mode="symmetric")
    smooth = np.zeros((height + 2, width + 2))
    for y in range(height + 2):
        for x in range(width + 2):
            smooth[y, x] = SMOOTH @ beyond[y : y + 5, x : x + 5] @ SMOOTH
    gx, gy = np.zeros(grey.shape), np.zeros(grey.shape)
    sobel = np.outer([1, 2, 1], [-1, 0, 1]) / 8
    for y in range(height):
        for x in range(width):
            gx[y, x] = (sobel * smooth[y : y + 3, x : x + 3]).sum()
            gy[y, x] = (sobel.T * smooth[y : y + 3, x : x + 3]).sum()
    return gx, gy


def naive_directions(gx, gy):
    """Canny's rule pixel by pixel; angles in reading order."""
    height, width = gx.shape
    strength = np.pad(np.hypot(gx, gy), 1)
    lines = set()
    for y in range(height):
        for x in range(width):
            own = strength[y + 1, x + 1]
            eighth = round(np.arctan2(gy[y, x], gx[y, x]) / (np.pi / 4)) % 8
            dx = (1, 1, 0, -1, -1, -1, 0, 1)[eighth]
            dy = (0, 1, 1, 1, 0, -1, -1, -1)[eighth]
            ahead, behind = strength[y + 1 + dy, x + 1 + dx], strength[y + 1 - dy, x + 1 - dx]
            if own >= WEAK and own >= behind and own > ahead:
                lines.add((y, x))
    waiting = [(y, x) for y, x in lines if strength[y + 1, x + 1] >= STRONG]
    edge = set(waiting)
    while waiting:
        y, x = waiting.pop()
        for near in [(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]:
            if near in lines and near not in edge:
                edge.add(near)
                waiting.append(near)
    return np.array([np.arctan2(gy[y, x], gx[y, x]) for y, x in sorted(edge)])


def blobs(seed, height=30, width=37):
    """A smooth random image with strong and weak edges."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    image = np.zeros((height, width))
    for _ in range(6):
        cy, cx, radius = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(3, 9)
        image += rng.uniform(-0.7, 0.7) * (np.hypot(y - cy, x - cx) < radius)
    return image.astype(np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (7, 2), (12, 15)])
def test_gradients_equal_the_definition(shape):
    grey = np.random.default_rng(0).random(shape, dtype=np.float32)
    for ours, naive in zip(gradients(grey), naive_gradients(grey), strict=True):
        np.testing.assert_allclose(ours, naive, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_edges_equal_cannys_rule(seed):
    grey = blobs(seed)
    naive = naive_directions(*(plane.astype(np.float64) for plane in gradients(grey)))
    ours = edge_directions(grey, WEAK, STRONG)
    assert len(naive) > 20
    np.testing.assert_allclose(ours, naive, atol=1e-5)


def test_a_disc_faces_every_direction_alike():
    y, x = np.mgrid[:101, :101]
    angles = edge_directions((np.hypot(y - 50, x - 50) < 35).astype(np.float32), WEAK, STRONG)
    counts = np.histogram(np.mod(angles + np.pi / 8, 2 * np.pi), bins=8, range=(0, 2 * np.pi))[0]
    assert counts.min() > 0.7 * counts.max()
    assert abs(len(angles) - 2 * np.pi * 35) < 0.25 * 2 * np.pi * 35


@pytest.mark.parametrize(
    ("bright", "angle"), [("right", 0.0), ("bottom", np.pi / 2), ("left", np.pi), ("top", -np.pi / 2)]
)
def test_directions_point_from_dark_to_bright(bright, angle):
    grey = np.zeros((40, 40), np.float32)
    grey[{"right": np.s_[:, 20:], "left": np.s_[:, :20], "top": np.s_[:20], "bottom": np.s_[20:]}[bright]] = 1
    angles = edge_directions(grey, WEAK, STRONG)
    assert len(angles) == 40
    np.testing.assert_allclose(np.cos(angles - angle), 1, atol=1e-6)


def test_weak_lines_count_only_where_they_meet_strong_ones():
    grey = np.zeros((60, 60), np.float32)
    grey[:, 30:] = 0.1
    assert edge_directions(grey, WEAK, STRONG).size == 0
    grey[:, 30:] = np.linspace(0.1, 0.9, 60)[:, None]
    assert edge_directions(grey, WEAK, STRONG).size == 60


def test_no_edges_in_a_flat_image_or_a_soft_slope():
    assert edge_directions(np.full((20, 20), 0.4, np.float32), WEAK, STRONG).size == 0
    slope = np.tile(np.linspace(0, 1, 200, dtype=np.float32), (20, 1))
    assert edge_directions(slope, WEAK, STRONG).size == 0


def naive_halves(row):
    """Low and high half of a list of numbers, straight from the taps."""
    row = list(row)
    mirrored = row + row[::-1] * 4
    need = math.ceil(len(row) / 2)
    low = [sum(LOW[t] * mirrored[2 * i + t] for t in range(4)) for i in range(need)]
    high = [sum(HIGH[t] * mirrored[2 * i + t] for t in range(4)) for i in range(need)]
    return low, high


def naive_details(grey, levels):
    planes = []
    for _ in range(levels):
        columns = [naive_halves(column) for column in grey.T]
        low, high = (np.array([c[part] for c in columns]).T for part in (0, 1))
        low_rows, high_rows = ([naive_halves(row) for row in half] for half in (low, high))
        grey, along_x = (np.array([r[part] for r in low_rows]) for part in (0, 1))
        along_y, diagonal = (np.array([r[part] for r in high_rows]) for part in (0, 1))
        planes.append((along_x, along_y, diagonal))
    return planes


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5), (1, 9), (8, 8), (13, 6)])
def test_equals_the_definition(shape):
    grey = np.random.default_rng(1).random(shape, dtype=np.float32)
    for ours, naive in zip(details(grey, 3), naive_details(grey, 3), strict=True):
        for plane, expected in zip(ours, naive, strict=True):
            np.testing.assert_allclose(plane, expected, atol=1e-6)


def test_the_taps_are_orthonormal_and_blind_to_ramps():
    assert float(LOW @ LOW) == pytest.approx(1, abs=1e-6)
    assert float(HIGH @ HIGH) == pytest.approx(1, abs=1e-6)
    assert float(LOW @ HIGH) == pytest.approx(0, abs=1e-6)
    assert LOW[:2] @ LOW[2:] == pytest.approx(0, abs=1e-6)
    assert HIGH.sum() == pytest.approx(0, abs=1e-6)
    assert HIGH @ np.arange(4) == pytest.approx(0, abs=1e-6)


def test_stripes_show_in_the_plane_of_their_direction():
    stripes = np.tile(np.array([0.0, 1.0], dtype=np.float32), (32, 16))
    along_x, along_y, diagonal = details(stripes, 1)[0]
    assert np.abs(along_x).mean() > 0.5
    assert np.abs(along_y).max() < 1e-6
    assert np.abs(diagonal).max() < 1e-6
    along_x, along_y, diagonal = details(np.ascontiguousarray(stripes.T), 1)[0]
    assert np.abs(along_y).mean() > 0.5
    assert np.abs(along_x).max() < 1e-6
