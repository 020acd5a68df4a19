"""An image is recognised after every usual change, and no other is taken for it."""

from __future__ import annotations

import io
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter

from semblance.core.imaging.same_image import (
    OUTLINE_CORRELATION,
    ComparableImage,
    is_same_image,
    mirrored,
    outlines,
)


def textured(seed, side=120):
    """Anatomy that all have in common, and texture of its own."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    body = np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) * 6) * 150
    texture = gaussian_filter(rng.normal(size=(side, side)), 2)
    return Image.fromarray(np.clip(body + 200 * texture + 40, 0, 255).astype(np.uint8))


def compared(image, quality=85):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return ComparableImage(out.getvalue())


def annotated(image):
    image = image.copy()
    draw = ImageDraw.Draw(image)
    draw.text((10, 95), "12.4 mm  L", fill=255)
    draw.line((40, 60, 70, 60), fill=255, width=2)
    return image


CHANGES = {
    "saved anew": lambda image: image.resize((80, 80)),
    "windowed": lambda image: image.point([min(255, int(2.2 * max(0, v - 20))) for v in range(256)]),
    "annotated": annotated,
    "mirrored": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "upside down": lambda image: image.transpose(Image.Transpose.ROTATE_180),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_image_is_the_same(change, seed):
    image = textured(seed)
    other = compared(CHANGES[change](image), quality=60)
    assert is_same_image(compared(image), other)
    found, own = outlines(other)[0], outlines(compared(image))
    assert max(float((form @ found).max()) for form in mirrored(own)) > 0.8


@pytest.mark.parametrize("box", [(0, 0, 100, 110), (13, 21, 118, 117), (25, 5, 120, 95)])
def test_a_part_is_the_same_only_where_parts_count(box):
    image = compared(textured(4))
    part = compared(textured(4).crop(box).resize((150, round(150 * (box[3] - box[1]) / (box[2] - box[0])))))
    assert is_same_image(image, part, parts=True)
    assert is_same_image(part, image, parts=True)
    assert not is_same_image(image, part)


def padded(image, box, grey):
    """The image on a larger uniform one, ``box``: pixels at its left, top, right and bottom."""
    left, top, right, bottom = box
    out = Image.new("L", (image.width + left + right, image.height + top + bottom), grey)
    out.paste(image, (left, top))
    return out


@pytest.mark.parametrize("grey", [0, 255])
@pytest.mark.parametrize("box", [(40, 0, 40, 0), (9, 70, 31, 12), (0, 0, 0, 60)])
def test_a_padded_image_is_the_same_and_has_a_close_outline(box, grey):
    images = [compared(textured(seed)) for seed in range(3)]
    for seed in range(3):
        copy = compared(padded(textured(seed), box, grey), quality=60)
        assert [is_same_image(image, copy) for image in images] == [one == seed for one in range(3)]
        closest = [
            max(float((form @ outlines(copy).T).max()) for form in mirrored(outlines(i))) for i in images
        ]
        assert int(np.argmax(closest)) == seed
        assert closest[seed] > OUTLINE_CORRELATION


@pytest.mark.parametrize("size", [(1500, 8), (8, 1500)])
def test_a_strip_is_compared_with_all_others(size):
    strip = compared(textured(0, side=1500).crop((0, 700, 1500, 708)).resize(size))
    for seed in range(3):
        other = compared(textured(seed))
        assert not is_same_image(strip, other, parts=True)
        assert not is_same_image(other, strip, parts=True)


def test_equal_margins_are_no_padding():
    """Slices in equal margins are compared with their margins, in which they differ enough."""
    box = (30, 30, 30, 30)
    one, other = (compared(padded(textured(seed), box, 0)) for seed in (1, 2))
    assert one.content.size != one.size
    assert not is_same_image(one, other, parts=True)


def faint(seed, side=64):
    """Some bright structures in noise of a few greys, as a slice of CT in a wide window."""
    rng = np.random.default_rng(seed)
    bright = np.zeros((side, side))
    bright[tuple(rng.integers(8, side - 8, (2, 20)))] = 900
    noise = rng.normal(0, 4, (side, side))
    return Image.fromarray(np.clip(125 + noise + gaussian_filter(bright, 1.2), 0, 255).astype(np.uint8))


def test_strong_compression_leaves_enough_of_a_faint_small_image():
    images = [compared(faint(seed)) for seed in range(8)]
    copies = [compared(faint(seed).resize((44, 44)), quality=40) for seed in range(8)]
    parts = [compared(faint(seed).crop((4, 2, 60, 62))) for seed in range(8)]
    for one, image in enumerate(images):
        for other in range(8):
            assert is_same_image(image, copies[other]) == (one == other)
            assert is_same_image(image, parts[other], parts=True) == (one == other)


def test_other_texture_in_equal_anatomy_is_another_image():
    images = [compared(textured(seed)) for seed in range(6)]
    for one in range(6):
        for other in range(one):
            assert not is_same_image(images[one], images[other], parts=True)


def test_a_uniform_image_has_no_outline_and_is_like_none():
    even = compared(Image.new("L", (60, 60), 90))
    assert len(outlines(even)) == 0
    assert not is_same_image(even, even)


def test_a_damaged_thumbnail_is_refused():
    with pytest.raises((OSError, ValueError)):
        ComparableImage(b"\xff\xd8\xff\xe0 no image")


def test_small_mammograms_of_different_women_are_told_apart_and_their_copies_found(data):
    """At 64 pixels a mammogram is an outline with little detail, and most of that all have in common."""
    with ZipFile(data / "images" / "mias_a.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".pgm"))[::6]
        small = [Image.open(archive.open(name)).resize((64, 64), Image.Resampling.LANCZOS) for name in names]
    images = [compared(image) for image in small]
    copies = [compared(image.resize((45, 45)), quality=60) for image in small]
    found = [
        (one, other)
        for one, image in enumerate(images)
        for other, copy in enumerate(copies)
        if is_same_image(image, copy)
    ]
    assert len([1 for one, other in found if one == other]) >= 0.95 * len(images)
    assert [pair for pair in found if pair[0] != pair[1]] == []
