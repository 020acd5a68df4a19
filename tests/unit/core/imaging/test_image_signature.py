from __future__ import annotations

import io
import zipfile

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance
from scipy.ndimage import gaussian_filter

from semblance.core.imaging.image_signature import (
    DUPLICATE_CORRELATION,
    image_signature,
    near_duplicate_pairs,
)


def scene(seed: int) -> Image.Image:
    """A smooth image of blobs."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:120, 0:160]
    grey = sum(
        rng.normal() * np.exp(-((x - rng.uniform(0, 160)) ** 2 + (y - rng.uniform(0, 120)) ** 2) / 800)
        for _ in range(12)
    )
    return Image.fromarray(np.clip(128 + 60 * grey, 0, 255).astype(np.uint8))


def encoded(image: Image.Image, kind: str = "PNG", **settings: int) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **settings)
    return out.getvalue()


def test_a_resaved_resized_or_brightened_copy_is_the_same_image():
    image = scene(0)
    saved = (
        encoded(image),
        encoded(image, "JPEG", quality=60),
        encoded(image.resize((320, 240))),
        encoded(ImageEnhance.Brightness(image).enhance(1.1)),
    )
    assert near_duplicate_pairs([image_signature(one) for one in saved]).all()


def test_other_images_and_other_cuts_are_not():
    image = scene(0)
    others = (
        image,
        scene(1),
        image.crop((0, 0, 100, 120)),
        image.rotate(180),
        image.crop((20, 15, 160, 120)),
    )
    alike = near_duplicate_pairs([image_signature(encoded(one)) for one in others])
    assert alike.tolist() == np.eye(5, dtype=bool).tolist()


def textured(seed: int) -> Image.Image:
    """The same shape with another texture, as two patients have."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:120, 0:160]
    shape = 150 - 130 * np.hypot((x - 80) / 80, (y - 60) / 60).clip(0, 1)
    grain = gaussian_filter(rng.normal(size=(120, 160)), 3)
    return Image.fromarray(np.clip(shape + 30 * grain / grain.std(), 0, 255).astype(np.uint8))


def test_a_copy_with_callipers_is_the_same_image_and_another_of_the_same_shape_is_not():
    image = textured(0)
    marked = image.copy()
    pen = ImageDraw.Draw(marked)
    for x, y in ((50, 40), (110, 40), (80, 20), (80, 90)):
        pen.line((x - 4, y, x + 4, y), fill=255, width=2)
        pen.line((x, y - 4, x, y + 4), fill=255, width=2)
    first, second = image_signature(encoded(image)), image_signature(encoded(marked))
    third = image_signature(encoded(textured(1)))
    assert near_duplicate_pairs([first, second, third])[0].tolist() == [True, True, False]
    assert float(first.coarse @ second.coarse) < DUPLICATE_CORRELATION


def test_the_frames_of_one_lesion_are_alike_and_mammograms_of_two_women_are_not(data):
    with zipfile.ZipFile(data / "images" / "busi_256.zip") as images:
        one, other = (
            image_signature(images.read(f"benign/benign_{number}.png")) for number in ("099", "139")
        )
    assert near_duplicate_pairs([one, other]).all()
    with zipfile.ZipFile(data / "images" / "mias_a.zip") as images:
        paths = {path.rpartition("/")[2]: path for path in images.namelist()}
        # The two of all pairs of women that are most alike.
        one, other = (image_signature(images.read(paths[f"mdb{number}.pgm"])) for number in (269, 321))
    assert not near_duplicate_pairs([one, other])[0, 1]


def test_a_uniform_image_is_similar_to_nothing():
    assert image_signature(encoded(Image.new("L", (50, 50), 90))) is None
