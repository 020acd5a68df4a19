"""What several extractors do to an image before measuring it, and to their numbers after."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image
from semblance.core.language import tr_lazy


def resampled(plane: npt.NDArray[np.float32], height: int, width: int) -> npt.NDArray[np.float32]:
    """``plane`` (h, w) as (height, width) float32, the same array where it already has that size.

    Linear interpolation where a side grows; where it shrinks, the triangle is widened to the reduction, so
    that every pixel of ``plane`` counts and nothing is aliased. Values are kept in floating point, hence
    8-bit, 16-bit and float images are treated the same.
    """
    from PIL import Image as PILImage

    if plane.shape == (height, width):
        return plane
    image = PILImage.fromarray(np.ascontiguousarray(plane, dtype=np.float32))
    return np.asarray(image.resize((width, height), PILImage.Resampling.BILINEAR))


def finite(pixels: npt.NDArray[np.float32], image: Image) -> npt.NDArray[np.float32]:
    """``pixels``, made from those of ``image``, themselves.

    Raises:
        BadInput: one of them is NaN or infinite.
    """
    if not np.isfinite(pixels).all():
        raise BadInput(
            tr_lazy("{image} contains values that are not finite numbers.", image=image.name or "The image"),
            "Replace NaN and infinite values by ordinary ones, then import it again.",
        )
    return pixels
