"""Correcting a region by discs painted in or taken out."""

from __future__ import annotations

import numpy as np

from semblance.core.errors import BadArguments
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.language import tr_lazy


def brushed(
    region: Region | None,
    x: float,
    y: float,
    radius: float,
    *,
    height: int,
    width: int,
    erase: bool = False,
) -> Region | None:
    """``region`` of an image of ``height`` x ``width`` pixels with the disc around (``x``, ``y``) added, or
    with ``erase`` taken out; ``None`` for an empty region, before or after.

    ``x``, ``y``: pixels from the image's corner, so the middle of the first pixel is (0.5, 0.5). The disc
    holds the pixels whose middle is inside. Slices are kept; all of them get the same outline.

    Raises:
        BadArguments: ``radius`` is not above 0.
    """
    if not radius > 0:
        raise BadArguments(
            tr_lazy("A brush of radius {radius:g} paints nothing.", radius=radius), "Make it larger than 0."
        )
    mask = np.zeros((height, width), dtype=np.bool_) if region is None else region.mask(height, width)
    rows, columns = np.arange(height)[:, None] + 0.5, np.arange(width)[None, :] + 0.5
    mask[(columns - x) ** 2 + (rows - y) ** 2 <= radius**2] = not erase
    if not mask.any():
        return None
    if region is None or region.z is None:
        return region_of_mask(mask)
    return region_of_mask(np.repeat(mask[None], region.depth, axis=0), region.z)
