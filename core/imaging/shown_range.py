"""The window with which an image is shown at first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semblance.core.imaging.image import Image

#: Of CT without a window: words of BodyPartExamined, and the Hounsfield units shown black and white. The first that
#: fits counts. Other parts are shown from -1,024 to 1,024.
CT_WINDOWS = (
    (("CHEST", "THORAX", "LUNG"), (-1350.0, 150.0)),
    (("HEAD", "BRAIN"), (0.0, 80.0)),
    (("ABDOMEN", "PELVIS", "LIVER", "KIDNEY", "PANCREAS", "COLON"), (-160.0, 240.0)),
    (("SPINE", "SKULL", "EXTREMITY", "HIP", "KNEE", "SHOULDER", "HAND", "FOOT"), (-500.0, 1300.0)),
)
#: Share of the pixels, in percent, left below black and above white.
CLIPPED = (0.5, 99.5)
_FULL = 65535.0
#: Pixels that decide what the darkest and brightest are.
_SAMPLED = 1 << 18


def as_shown(image: Image) -> Image:
    """``image`` with other ``black`` and ``white``.

    Through the first window of its file; CT without one through that of its body part (:data:`CT_WINDOWS`); other
    images of 16 bits from the 0.5th to the 99.5th percentile of their pixels. Images that are not DICOM stay as they
    are where they reach half of 65,535. So do colour, 8 bits and floating point, whose range is known.
    """
    if image.is_colour:
        return image
    values, edges = image.values, first_window(image)
    if edges is not None:
        black, white = sorted((edge - values.intercept) / values.slope for edge in edges)
    elif values.unit == "HU" or image.pixels.dtype.itemsize != np.dtype(np.uint16).itemsize:
        return image
    else:
        black, white = _percentiles(image)
        if (image.black, image.white) == (0.0, _FULL) and white >= _FULL / 2:
            return image
    return replace(image, black=black, white=white) if white > black else image


def first_window(image: Image) -> tuple[float, float] | None:
    """The values shown black and white at first: the file's first window, else that of a CT's body part; ``None``
    where there is neither."""
    if image.values.windows:
        return image.values.windows[0].low, image.values.windows[0].high
    if image.values.unit == "HU":
        part = image.body_part.upper()
        return next((edges for terms, edges in CT_WINDOWS if any(word in part for word in terms)), None)
    return None


def _percentiles(image: Image) -> tuple[float, float]:
    step = max(1, int((image.height * image.width / _SAMPLED) ** 0.5))
    sample = image.pixels[::step, ::step]
    outside = image.padding_mask()
    if outside is not None:
        sample = sample[~outside[::step, ::step]]
    if not sample.size:
        return image.black, image.white
    black, white = (float(one) for one in np.percentile(sample, CLIPPED))
    return black, white
