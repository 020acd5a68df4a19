from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageEnhance

from core.imaging.fingerprint import fingerprint, pairs_alike


def scene(seed: int) -> Image.Image:
    """A smooth picture of blobs."""
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


def test_saved_anew_resized_or_brighter_it_is_the_same_picture():
    image = scene(0)
    saved = (
        encoded(image),
        encoded(image, "JPEG", quality=60),
        encoded(image.resize((320, 240))),
        encoded(ImageEnhance.Brightness(image).enhance(1.1)),
    )
    assert pairs_alike([fingerprint(one) for one in saved]).all()


def test_other_pictures_and_other_cuts_are_not():
    image = scene(0)
    others = (
        image,
        scene(1),
        image.crop((0, 0, 100, 120)),
        image.rotate(180),
        image.crop((20, 15, 160, 120)),
    )
    alike = pairs_alike([fingerprint(encoded(one)) for one in others])
    assert alike.tolist() == np.eye(5, dtype=bool).tolist()


def test_an_even_picture_is_like_nothing():
    assert fingerprint(encoded(Image.new("L", (50, 50), 90))) is None
