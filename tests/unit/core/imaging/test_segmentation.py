"""From a click or a rectangle to the mass: shapes with known answers, and masks drawn by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import ndimage

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import cheapest_closed_path, segment_at, segment_in


def blob(height=120, width=160, centre=(80, 60), axes=(26, 18), bright=True, seed=0, noise=0.04):
    """A smooth-edged ellipse in noise, and its mask."""
    y, x = np.mgrid[:height, :width]
    mask = ((x - centre[0]) / axes[0]) ** 2 + ((y - centre[1]) / axes[1]) ** 2 <= 1
    soft = ndimage.gaussian_filter(mask.astype(float), 1.5)
    grey = 0.3 + 0.3 * (soft if bright else 1 - soft)
    grey += np.random.default_rng(seed).normal(0, noise, mask.shape)
    return Image(np.clip(grey, 0, 1).astype(np.float32), 1.0, "blob.png"), mask


def dice(a, b):
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


@pytest.mark.parametrize("bright", [True, False])
@pytest.mark.parametrize("click", [(80, 60), (88, 64)])
def test_a_click_finds_the_mass(bright, click):
    image, mask = blob(bright=bright)
    found = segment_at(image, *click).mask(120, 160)
    assert dice(found, mask) > 0.93


def test_a_rectangle_is_narrowed_to_the_mass():
    image, mask = blob()
    box = Region(48, 36, 66, 50)
    found = segment_in(image, box)
    assert dice(found.mask(120, 160), mask) > 0.95
    assert not (found.mask(120, 160) & ~box.mask(120, 160)).any()


def clean(grey):
    """``grey``, with smooth edges and without noise, as an image."""
    return Image(ndimage.gaussian_filter(grey, 1.0).astype(np.float32), 1.0)


def test_nothing_lies_outside_a_rectangle_inside_the_mass():
    image, _ = blob()
    box = Region(66, 50, 28, 20)
    found = segment_in(image, box).mask(120, 160)
    assert found.any()
    assert not (found & ~box.mask(120, 160)).any()


def test_of_two_equally_strong_edges_a_click_prefers_the_larger_line():
    y, x = np.mgrid[:120, :160]
    far = np.hypot(x - 80, y - 60)
    found = segment_at(clean(0.2 + 0.1 * (far <= 34) + 0.1 * (far <= 10)), 80, 60).mask(120, 160)
    assert np.sqrt(found.sum() / np.pi) == pytest.approx(34, rel=0.05)


def test_in_a_whole_mammogram_small_masses_are_looked_for():
    y, x = np.mgrid[:400, :400]
    breast = np.hypot(x, y - 200) < 220
    mass = np.hypot(x - 110, y - 190) <= 12
    grey = 0.35 * ndimage.gaussian_filter(breast.astype(float), 3)
    grey += 0.2 * ndimage.gaussian_filter(mass.astype(float), 1.5)
    grey += np.random.default_rng(0).normal(0, 0.01, grey.shape)
    image = Image(np.clip(grey, 0, 1).astype(np.float32), 1.0)
    assert dice(segment_at(image, 110, 190).mask(400, 400), mass) > 0.9


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("size", [(66, 50), (67, 51), (66, 51)])
def test_a_turned_image_gives_the_turned_mass(times, size):
    image, _ = blob()
    box = Region(47, 35, *size)
    straight = segment_in(image, box).mask(120, 160)
    turned = Image(np.rot90(image.pixels, times).copy(), 1.0)
    rows, columns = np.nonzero(np.rot90(box.mask(120, 160), times))
    turned_box = Region(int(columns.min()), int(rows.min()), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)
    found = segment_in(turned, turned_box).mask(turned.height, turned.width)
    assert np.count_nonzero(found ^ np.rot90(straight, times)) <= 4


def test_large_images_are_worked_on_small_and_give_the_same():
    image, mask = blob()
    large = Image(np.repeat(np.repeat(image.pixels, 9, 0), 9, 1), 1.0)
    found = segment_in(large, Region(48 * 9, 36 * 9, 66 * 9, 50 * 9)).mask(1080, 1440)
    assert dice(found, np.repeat(np.repeat(mask, 9, 0), 9, 1)) > 0.95


@pytest.mark.parametrize("value", [0.0, 0.5])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 40), (3, 5), (60, 60)])
def test_never_empty_nor_outside(value, height, width):
    image = Image(np.full((height, width), value, np.float32), 1.0)
    for x, y in ((0, 0), (width - 1, height - 1)):
        assert segment_at(image, x, y).mask(height, width).any()
    assert segment_in(image, Region(0, 0, width, height)).mask(height, width).any()
    one = segment_in(image, Region(width - 1, height - 1, 5, 5))
    assert one.mask(height, width).sum() == 1


def test_the_same_image_in_other_depths_gives_the_same():
    image, _ = blob()
    eight = (image.pixels * 255).round().astype(np.uint8)
    first = segment_at(Image(eight, 255.0), 80, 60)
    assert segment_at(Image(eight, 255.0), 80, 60) == first
    assert segment_at(Image(eight.astype(np.uint16) * np.uint16(257), 65535.0), 80, 60) == first
    colour = Image(np.repeat(eight[:, :, None], 3, axis=2), 255.0)
    assert dice(segment_at(colour, 80, 60).mask(120, 160), first.mask(120, 160)) > 0.99


def test_what_cannot_be_segmented_is_reported():
    image, _ = blob()
    with pytest.raises(BadInput, match="lies outside"):
        segment_at(image, 160, 3)
    with pytest.raises(BadInput, match="lies outside"):
        segment_in(image, Region(200, 3, 5, 5))
    broken = image.pixels.copy()
    broken[50, 70] = np.nan
    with pytest.raises(BadInput, match=r"blob\.png.*finite"):
        segment_at(Image(broken, 1.0, "blob.png"), 80, 60)


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_closed_path_is_that_of_all_paths(seed):
    rng = np.random.default_rng(seed)
    cost = rng.random((5, 4))
    bend = 0.3 * rng.random()

    def total(path):
        moves = np.diff([*path, path[0]])
        if np.abs(moves).max() > 1:
            return np.inf
        return cost[np.arange(5), path].sum() + bend * np.count_nonzero(moves)

    best = min(total(path) for path in itertools.product(range(4), repeat=5))
    assert total(cheapest_closed_path(cost, bend)) == pytest.approx(best, abs=1e-12)


def test_masks_drawn_by_hand(data):
    """The first images of BUSI; the benchmark scores all that were not used to choose the weights."""
    from semblance.core.imaging import ImageAddress, open_image

    container = data / "images" / "busi_masks_a.zip"
    scores = []
    for number in (2, 4, 6, 8):
        name = f"malignant/malignant_{number:03d}"
        image = open_image(ImageAddress(container, f"{name}.png"))
        mask = open_image(ImageAddress(container, f"{name}_mask.png")).grey() > 0.5
        rows, columns = np.nonzero(mask)
        box = Region(int(columns.min()), int(rows.min()), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)
        scores.append(dice(segment_in(image, box).mask(*mask.shape), mask))
    assert np.mean(scores) > 0.8
