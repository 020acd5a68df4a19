"""Regions that a source keeps as images of their own: white where the finding is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.raster import size_of
from semblance.core.language import tr_lazy
from semblance.core.library.importers.source import Source


class NoMask(BadInput):
    """An image of many greys."""


class WrongSize(BadInput):
    """A mask that does not fit its image."""


#: Share of pixels between black and white that a mask may have: JPEG blurs its edges.
_MAX_GREY_SHARE = 0.05


def read_mask(
    source: Source, path: str, reader: ImageReader, size: tuple[int, int] | None = None
) -> npt.NDArray[np.bool_]:
    """(h, w) the pixels brighter than half the brightest; all false for a black image.

    ``size``: (height, width) of the image it belongs to.

    Raises:
        BadInput: unreadable, an image of many greys (:class:`NoMask`), or a mask of another size (:class:`WrongSize`).
    """
    grey = reader.open(source.address(path)).grey()
    top = float(grey.max())
    between = np.count_nonzero((grey > 0.1 * top) & (grey < 0.9 * top))
    if between > _MAX_GREY_SHARE * grey.size:
        raise NoMask(
            tr_lazy("'{path}' is a grey-scale image, not a mask.", path=path), "A mask is black and white."
        )
    if size is not None:
        _check_size(path, grey.shape, size)
    marked: npt.NDArray[np.bool_] = grey > top / 2
    return marked


def image_size(source: Source, path: str) -> tuple[int, int]:
    """(height, width) from the header of a raster image.

    Raises:
        BadInput: it cannot be read.
    """
    _, width, height = size_of(source.read(path), path)
    return height, width


def _check_size(name: str, shape: tuple[int, ...], size: tuple[int, int]) -> None:
    """Whether a mask of ``shape`` fits its image of ``size``, both (height, width).

    Raises:
        BadInput: it does not.
    """
    if shape != size:
        raise WrongSize(
            tr_lazy(
                "The mask '{path}' is {shape} x {shape2} pixels, its image {size} x {size2}.",
                path=name,
                shape=shape[1],
                shape2=shape[0],
                size=size[1],
                size2=size[0],
            ),
            "Save the mask in the size of its image.",
        )
