"""Thumbnails of images, and the properties of an image file.

Thumbnails show the whole image, fitted and never enlarged. More than 8 bits are windowed as the file says,
else between the 0.5th and 99.5th percentile, since 12 bits shown on a 16-bit scale are black; 8-bit images
stay as they are.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.raster import load
from semblance.core.limits import MAX_PIXELS

if TYPE_CHECKING:
    from PIL import Image as PILImage

LONGEST = 160

_QUALITY = 85
_PERCENTILES = (0.5, 99.5)
_SAMPLED = 65_536
_MIN_RANGE = 1e-30


@dataclass(frozen=True)
class ImageFacts:
    """The properties of an image for the catalogue: upright size in pixels, 1 or 3 channels, 8, 16 or 32 bits per
    channel, and a JPEG thumbnail with its longest side at most :data:`LONGEST`."""

    width: int
    height: int
    channels: int
    bits: int
    thumbnail: bytes


def thumbnail(image: Image, longest: int = LONGEST) -> bytes:
    """JPEG bytes of the whole image, its longest side at most ``longest`` pixels."""
    from PIL import Image as PILImage

    if image.pixels.dtype == np.uint8 and image.values == ValueScale() and image.white == 255.0:
        return _jpeg_bytes(PILImage.fromarray(image.pixels), longest)
    shown = _apply_window(image)
    if image.values.inverse:
        shown = shown.point(lambda level: 255 - level)
    return _jpeg_bytes(shown, longest)


def inspect_image(image: Image, longest: int = LONGEST) -> ImageFacts:
    """The properties of a decoded image."""
    return ImageFacts(
        image.width,
        image.height,
        3 if image.is_colour else 1,
        image.pixels.dtype.itemsize * 8,
        thumbnail(image, longest),
    )


def inspect(
    data: bytes,
    name: str,
    longest: int = LONGEST,
    *,
    frame: int | None = None,
    max_pixels: int = MAX_PIXELS,
) -> ImageFacts:
    """The properties of an image file's bytes. The whole file is decoded, so damage is found here.

    Raises:
        BadInput: as :func:`semblance.core.imaging.raster.decode`.
    """
    loaded = load(data, name, frame=frame, max_pixels=max_pixels, at_least=longest)
    if loaded.deep is not None:
        return inspect_image(Image(loaded.deep, loaded.white, name), longest)
    assert loaded.image is not None
    channels = len(loaded.image.getbands())
    return ImageFacts(loaded.width, loaded.height, channels, 8, _jpeg_bytes(loaded.image, longest))


def _jpeg_bytes(image: PILImage.Image, longest: int) -> bytes:
    from PIL.Image import Resampling

    width, height = image.size
    scale = longest / max(width, height)
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        image = image.resize(size, Resampling.BILINEAR, reducing_gap=2.0)
    # Comments and EXIF of the original may name a patient; nothing of them goes into the thumbnail.
    image.info = {}
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()


def _window(image: Image) -> tuple[float, float]:
    """The stored values shown black and white: the file's first window, else percentiles without padding; for bytes
    their full range."""
    values, pixels = image.values, image.pixels
    if values.windows and not image.is_colour and values.slope > 0:
        first = values.windows[0]
        return (first.low - values.intercept) / values.slope, (first.high - values.intercept) / values.slope
    if pixels.dtype == np.uint8:
        return image.black, image.white
    step = max(1, int((pixels.shape[0] * pixels.shape[1] / _SAMPLED) ** 0.5))
    sample, padded = pixels[::step, ::step], image.padding_mask()
    if padded is not None and not padded.all():
        valid = sample[~padded[::step, ::step]]
        sample = valid if valid.size else sample
    low, high = (float(value) for value in np.percentile(sample, _PERCENTILES))
    if high <= low:
        low, high = float(sample.min()), float(sample.max())
    return (low, high) if high > low else (0.0, image.white)


def _apply_window(image: Image) -> PILImage.Image:
    from PIL import Image as PILImage

    pixels, (low, high) = image.pixels, _window(image)
    high = high if high > low else low + 1.0
    # Damaged floats can lie so near to each other that single precision has no number for the quotient.
    scale = np.float32(255.0 / max(high - low, _MIN_RANGE))
    out = np.empty(pixels.shape, np.uint8)
    for start in range(0, len(pixels), 256):
        rows = pixels[start : start + 256].astype(np.float32)
        np.clip((rows - low) * scale, 0, 255, out=rows)
        out[start : start + 256] = rows
    return PILImage.fromarray(out)
