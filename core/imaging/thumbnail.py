"""Thumbnails of images, and the properties of an image file.

Thumbnails show the whole image as the viewer first does (:func:`semblance.core.imaging.shown_range.shown_bytes`),
fitted and never enlarged.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Image
from semblance.core.imaging.raster import load
from semblance.core.imaging.region import Box, Region
from semblance.core.imaging.shown_range import shown_bytes

if TYPE_CHECKING:
    from PIL import Image as PILImage


#: The colour of regions on images, and of the casing that sets it off from them.
LINE, CASING = (185, 179, 255), (16, 16, 18)


def region_thumbnail(image: Image, region: Region, longest: int) -> bytes:
    """PNG bytes of the whole ``image``, its longest side at most ``longest`` pixels, ``region`` outlined.

    Raises:
        BadInput: nothing of the region lies inside the image.
    """
    from PIL import Image as PILImage

    mask = PILImage.fromarray(region.mask(image.height, image.width))
    with PILImage.open(io.BytesIO(thumbnail(image, longest))) as small:
        pixels = np.asarray(small.convert("RGB")).copy()
    shown = np.asarray(mask.resize((pixels.shape[1], pixels.shape[0]), PILImage.Resampling.BOX)) > 0
    edge = _edge_pixels(shown)
    pixels[_dilated(edge)] = CASING
    pixels[edge] = LINE
    out = io.BytesIO()
    PILImage.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def framed(encoded: bytes, share: Box) -> bytes:
    """PNG bytes of the PNG or JPEG ``encoded`` with a frame around the rectangle ``share`` (left, top, right, bottom as
    shares of its width and height). The frame lies outside the rectangle, where the image has pixels there."""
    from PIL import Image as PILImage
    from PIL import ImageDraw

    with PILImage.open(io.BytesIO(encoded)) as opened:
        image = opened.convert("RGB")
    width, height = image.size
    # Wide enough to be seen where a large image is printed small.
    line = max(1, round(max(width, height) / 180))
    drawn = ImageDraw.Draw(image)
    box = (share[0] * width, share[1] * height, share[2] * width - 1, share[3] * height - 1)
    grown = 2 * line + 1
    for colour, grow, thick in ((CASING, grown, 2 * line + 1), (LINE, grown - line // 2 - 1, line)):
        left, top = max(0, round(box[0]) - grow), max(0, round(box[1]) - grow)
        right = min(width - 1, max(left, round(box[2]) + grow))
        bottom = min(height - 1, max(top, round(box[3]) + grow))
        drawn.rectangle((left, top, right, bottom), outline=colour, width=thick)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _edge_pixels(inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Pixels of ``inside`` with one beside them that is not, the image's border included."""
    around = np.pad(inside, 1)
    middle = around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:]
    edge: npt.NDArray[np.bool_] = inside & ~middle
    return edge


def _dilated(edge: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    around = np.pad(edge, 1)
    grown: npt.NDArray[np.bool_] = (
        around[:-2, 1:-1] | around[2:, 1:-1] | around[1:-1, :-2] | around[1:-1, 2:] | edge
    )
    return grown


LONGEST = 160

_QUALITY = 85


@dataclass(frozen=True)
class ImageFacts:
    """The properties of an image for the catalogue: upright size in pixels, and a JPEG thumbnail with its longest side
    at most :data:`LONGEST`."""

    width: int
    height: int
    thumbnail: bytes


def thumbnail(image: Image, longest: int = LONGEST) -> bytes:
    """JPEG bytes of the whole image, its longest side at most ``longest`` pixels."""
    from PIL import Image as PILImage

    return _jpeg_bytes(PILImage.fromarray(shown_bytes(image)), longest)


def inspect(data: bytes, name: str) -> ImageFacts:
    """The properties of an image file's bytes. The whole file is decoded, so damage is found here.

    Raises:
        BadInput: as :func:`semblance.core.imaging.raster.decode`.
    """
    loaded = load(data, name, at_least=LONGEST)
    if loaded.deep is not None:
        shown = thumbnail(Image(loaded.deep, loaded.white, name))
    else:
        assert loaded.image is not None
        shown = _jpeg_bytes(loaded.image, LONGEST)
    return ImageFacts(loaded.width, loaded.height, shown)


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
