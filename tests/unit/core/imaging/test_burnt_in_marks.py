from __future__ import annotations

import dataclasses
import zipfile
from collections import Counter

import numpy as np
import pytest
from PIL import Image as PILImage
from scipy.ndimage import gaussian_filter

from semblance.core.imaging.burnt_in_marks import find_marks, hide_marks, may_have_marks
from semblance.core.imaging.image import Image
from tests.helpers.burnt_in_marks import COLOURS, STYLES, TRAPS, draw_mark, draw_trap


def ultrasound(seed, height=256, width=300):
    """Speckle over layers, darker with depth, and a dark mass."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width].astype(float)
    speckle = gaussian_filter(rng.rayleigh(1.0, (height, width)), (1.0, 1.8))
    layers = 1 + 0.4 * np.sin(y / height * rng.uniform(8, 16) + 0.4 * np.sin(x / width * 5))
    mass = 1 - 0.75 * ((((y - height / 2) / 40) ** 2 + ((x - width / 2) / 55) ** 2) < 1)
    grey = 78 * speckle * layers * gaussian_filter(mass, 2) * (1.15 - 0.8 * y / height)
    return np.clip(grey, 0, 255).astype(np.uint8)


def hidden(pixels):
    found = find_marks(Image(pixels, 255.0))
    return np.zeros(pixels.shape[:2], bool) if found is None else found.mask


def test_marks_of_every_style_size_and_colour_are_found():
    colours = list(COLOURS)
    marked, found = Counter(), Counter()
    for number, style in enumerate(STYLES * 3):
        side = 900 if number % 13 == 5 else (256, 300, 400)[number % 3]
        made = draw_mark(
            ultrasound(number, side, side + 40),
            style,
            seed=number,
            colour=colours[number % len(colours)],
            size=(0.7, 1.0, 1.6)[number % 3],
            smooth=bool(number % 2),
        )
        marked[style] += made.mask.sum()
        found[style] += hidden(made.pixels)[made.mask].sum()
    assert found.total() >= 0.95 * marked.total()
    assert {
        style: found[style] / marked[style] for style in STYLES if found[style] < 0.9 * marked[style]
    } == {}


def test_images_without_marks_and_bright_anatomy_are_left_alone():
    images = [ultrasound(seed, side, side) for seed, side in enumerate((256, 300, 448, 640) * 2)]
    assert [hidden(one).sum() for one in images] == [0] * len(images)
    for trap in TRAPS:
        areas = [hidden(draw_trap(one, trap, seed=seed)).mean() for seed, one in enumerate(images)]
        assert np.mean(areas) <= 0.003, trap


@pytest.mark.parametrize("style", ["calipers", "letters", "grey bar"])
def test_what_is_filled_in_is_nearer_to_what_was_there(style):
    clean = ultrasound(3)
    made = draw_mark(clean, style, seed=1)
    image = Image(made.pixels, 255.0, "a.png")
    out = hide_marks(image)
    assert (out.name, out.pixels.dtype, out.pixels.shape) == ("a.png", np.uint8, clean.shape)
    assert out.hidden_marks is not None
    assert out.hidden_marks >= 1
    was, now = (np.abs(p.astype(float) - clean)[made.mask].mean() for p in (made.pixels, out.pixels))
    assert now < 0.35 * was
    far = ~hidden(made.pixels)
    assert (out.pixels[far] == made.pixels[far]).all()


def test_deep_and_inverse_pixels_are_filled_in_their_own_numbers():
    made = draw_mark(ultrasound(5), "plus", seed=2)
    deep = Image(made.pixels.astype(np.uint16) * 257, 65535.0)
    found, out = find_marks(deep), hide_marks(deep)
    assert found is not None
    assert found.mask[made.mask].mean() >= 0.95
    assert out.pixels.dtype == np.uint16
    assert out.pixels[made.mask].mean() < 0.7 * deep.pixels[made.mask].mean()


def test_each_mark_has_a_box():
    pixels = ultrasound(6)
    for x, y in ((30, 40), (200, 60), (120, 200)):
        pixels[y - 5 : y + 6, x] = pixels[y, x - 5 : x + 6] = 255
    found = find_marks(Image(pixels, 255.0))
    assert found is not None
    assert len(found.boxes) == 3
    inside = [
        any(box.x <= x < box.x + box.width and box.y <= y < box.y + box.height for box in found.boxes)
        for x, y in ((30, 40), (200, 60), (120, 200))
    ]
    assert all(inside)


def test_which_images_are_searched():
    grey = Image(ultrasound(1), 255.0)
    rng = np.random.default_rng(0)
    photograph = Image(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8), 255.0)
    tinted = draw_mark(ultrasound(1), "colour bar", seed=1).pixels
    assert may_have_marks(grey)
    assert may_have_marks(Image(tinted, 255.0))
    assert not may_have_marks(photograph)
    assert not may_have_marks(Image(grey.pixels.astype(np.float32), 255.0))
    by_modality = {
        code: may_have_marks(dataclasses.replace(photograph, attributes={"modality": code}))
        for code in ("US", "OT", "CT", "MG")
    }
    assert by_modality == {"US": True, "OT": False, "CT": False, "MG": False}


def test_small_images_are_searched_for_colour_only():
    pixels = ultrasound(2)[:64, :64]
    made = draw_mark(pixels, "plus", seed=1)
    assert not hidden(made.pixels).any()
    coloured = draw_mark(pixels, "plus", seed=1, colour="yellow")
    assert hidden(coloured.pixels)[coloured.mask].mean() == 1.0


def test_breast_ultrasound(data):
    """Every eighth image, none of which the thresholds were chosen on. Some have marks of their own."""
    with zipfile.ZipFile(data / "images" / "busi_256.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".png"))[4::8]
        images = [np.asarray(PILImage.open(archive.open(name)).convert("L")) for name in names]
    assert np.mean([hidden(one).mean() for one in images]) <= 0.003
    made = [draw_mark(one, STYLES[n % len(STYLES)], seed=n) for n, one in enumerate(images)]
    found = sum(hidden(one.pixels)[one.mask].sum() for one in made)
    assert found >= 0.95 * sum(one.mask.sum() for one in made)
