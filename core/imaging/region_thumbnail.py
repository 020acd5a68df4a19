"""A whole image, small, with a region outlined on it."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import thumbnail

#: The colour of regions on images, and of the casing that sets it off from them.
_LINE, _CASING = (185, 179, 255), (16, 16, 18)


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
    pixels[_dilated(edge)] = _CASING
    pixels[edge] = _LINE
    out = io.BytesIO()
    PILImage.fromarray(pixels).save(out, "PNG")
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
