"""A whole picture, small, with a region outlined on it."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.picture import Picture
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import thumbnail

#: The colour of regions on pictures, and of the casing that sets it off from them.
_LINE, _CASING = (185, 179, 255), (16, 16, 18)


def overview(picture: Picture, region: Region, longest: int) -> bytes:
    """PNG bytes of the whole ``picture``, its longest side at most ``longest`` pixels, ``region`` outlined.

    Raises:
        BadInput: nothing of the region lies inside the picture.
    """
    from PIL import Image

    mask = Image.fromarray(region.mask(picture.height, picture.width))
    with Image.open(io.BytesIO(thumbnail(picture, longest))) as small:
        pixels = np.asarray(small.convert("RGB")).copy()
    shown = np.asarray(mask.resize((pixels.shape[1], pixels.shape[0]), Image.Resampling.BOX)) > 0
    edge = _edge(shown)
    pixels[_grown(edge)] = _CASING
    pixels[edge] = _LINE
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def _edge(inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Pixels of ``inside`` with one beside them that is not, the picture's border included."""
    around = np.pad(inside, 1)
    middle = around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:]
    edge: npt.NDArray[np.bool_] = inside & ~middle
    return edge


def _grown(edge: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    around = np.pad(edge, 1)
    grown: npt.NDArray[np.bool_] = (
        around[:-2, 1:-1] | around[2:, 1:-1] | around[1:-1, :-2] | around[1:-1, 2:] | edge
    )
    return grown
