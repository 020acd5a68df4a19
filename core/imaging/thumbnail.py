"""Small pictures for grids, and the facts of a file found out on the way.

Thumbnails show the whole picture, fitted and never enlarged. More than 8 bits are windowed as the file says,
else between the 0.5th and 99.5th percentile, since 12 bits shown on a 16-bit scale are black; 8-bit pictures
stay as they are.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.imaging.limits import MAX_PIXELS
from semblance.core.imaging.picture import Picture, Values
from semblance.core.imaging.raster import load

if TYPE_CHECKING:
    from PIL import Image

LONGEST = 160

_QUALITY = 85
_PERCENTILES = (0.5, 99.5)
_SAMPLED = 65_536
_LEAST_RANGE = 1e-30


@dataclass(frozen=True)
class PictureFacts:
    """What the catalogue keeps of a picture: upright size in pixels, 1 or 3 channels, 8, 16 or 32 bits a
    channel, and a JPEG thumbnail with its longest side at most :data:`LONGEST`."""

    width: int
    height: int
    channels: int
    bits: int
    thumbnail: bytes


def thumbnail(picture: Picture, longest: int = LONGEST) -> bytes:
    """JPEG bytes of the whole picture, its longest side at most ``longest`` pixels."""
    from PIL import Image

    if picture.pixels.dtype == np.uint8 and picture.values == Values() and picture.white == 255.0:
        return _packed(Image.fromarray(picture.pixels), longest)
    shown = _windowed(picture)
    if picture.values.inverse:
        shown = shown.point(lambda level: 255 - level)
    return _packed(shown, longest)


def inspect_picture(picture: Picture, longest: int = LONGEST) -> PictureFacts:
    """The facts of a decoded picture."""
    return PictureFacts(
        picture.width,
        picture.height,
        3 if picture.is_colour else 1,
        picture.pixels.dtype.itemsize * 8,
        thumbnail(picture, longest),
    )


def inspect(
    data: bytes,
    name: str,
    longest: int = LONGEST,
    *,
    frame: int | None = None,
    max_pixels: int = MAX_PIXELS,
) -> PictureFacts:
    """The facts of a picture file's bytes. All of it is decoded, so damage is found here.

    Raises:
        BadInput: as :func:`semblance.core.imaging.raster.decode`.
    """
    loaded = load(data, name, frame=frame, max_pixels=max_pixels, at_least=longest)
    if loaded.deep is not None:
        return inspect_picture(Picture(loaded.deep, loaded.white, name), longest)
    assert loaded.image is not None
    channels = len(loaded.image.getbands())
    return PictureFacts(loaded.width, loaded.height, channels, 8, _packed(loaded.image, longest))


def _packed(image: Image.Image, longest: int) -> bytes:
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


def _window(picture: Picture) -> tuple[float, float]:
    """The stored numbers shown black and white: the file's first window, else by percentiles of what is no
    padding; of bytes all of their scale."""
    values, pixels = picture.values, picture.pixels
    if values.windows and not picture.is_colour and values.slope > 0:
        first = values.windows[0]
        return (first.low - values.intercept) / values.slope, (first.high - values.intercept) / values.slope
    if pixels.dtype == np.uint8:
        return picture.black, picture.white
    step = max(1, int((pixels.shape[0] * pixels.shape[1] / _SAMPLED) ** 0.5))
    sample, padded = pixels[::step, ::step], picture.padded()
    if padded is not None and not padded.all():
        kept = sample[~padded[::step, ::step]]
        sample = kept if kept.size else sample
    low, high = (float(value) for value in np.percentile(sample, _PERCENTILES))
    if high <= low:
        low, high = float(sample.min()), float(sample.max())
    return (low, high) if high > low else (0.0, picture.white)


def _windowed(picture: Picture) -> Image.Image:
    from PIL import Image

    pixels, (low, high) = picture.pixels, _window(picture)
    high = high if high > low else low + 1.0
    # Damaged floats can lie so near to each other that single precision has no number for the quotient.
    scale = np.float32(255.0 / max(high - low, _LEAST_RANGE))
    out = np.empty(pixels.shape, np.uint8)
    for start in range(0, len(pixels), 256):
        rows = pixels[start : start + 256].astype(np.float32)
        np.clip((rows - low) * scale, 0, 255, out=rows)
        out[start : start + 256] = rows
    return Image.fromarray(out)
