"""Regions that a source keeps as pictures of their own: white where the finding is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.errors import BadInput
from core.imaging.container import PictureReader
from core.imaging.raster import size_of
from core.language import say
from core.library.importers.source import Source

#: Share of pixels between black and white that a mask may have: JPEG blurs its edges.
_MOST_BETWEEN = 0.05


def read_mask(
    source: Source, path: str, reader: PictureReader, size: tuple[int, int] | None = None
) -> npt.NDArray[np.bool_]:
    """(h, w) the pixels brighter than half the brightest; all false for a black picture.

    ``size``: (height, width) of the picture it belongs to.

    Raises:
        BadInput: unreadable, a picture of many greys, or of another size.
    """
    grey = reader.open(source.address(path)).grey()
    if size is not None and grey.shape != size:
        raise BadInput(
            say(
                "The mask '{path}' is {shape} x {shape2} pixels, its picture {size} x {size2}.",
                path=path,
                shape=grey.shape[1],
                shape2=grey.shape[0],
                size=size[1],
                size2=size[0],
            ),
            "Save the mask in the size of its picture.",
        )
    top = float(grey.max())
    between = np.count_nonzero((grey > 0.1 * top) & (grey < 0.9 * top))
    if between > _MOST_BETWEEN * grey.size:
        raise BadInput(
            say("'{path}' is a picture of many greys, not a mask.", path=path), "A mask is black and white."
        )
    marked: npt.NDArray[np.bool_] = grey > top / 2
    return marked


def picture_size(source: Source, path: str) -> tuple[int, int]:
    """(height, width) as the header of a raster picture says.

    Raises:
        BadInput: it cannot be read.
    """
    _, width, height = size_of(source.read(path), path)
    return height, width
