"""The window with which an image is shown at first, and the image as it is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Curve, Image, window_greys

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
_BLOCK_ROWS = 256

#: Stored numbers shown black and white, and the greys between them.
Shown = tuple[float, float, Curve | None]


def shown_window(image: Image) -> Shown:
    """The first window of a grey image, on its stored numbers: viewer, thumbnails and encoder begin with it.

    The first window of its file; CT without one through that of its body part (:data:`CT_WINDOWS`); other CT and 8
    bits by their whole range; the rest from the 0.5th to the 99.5th percentile of the pixels that are not padding.
    Plain images of 16 bits stay as they are where they reach half of 65,535.
    """
    values, first = image.values, first_window(image)
    if first is not None:
        low, high, curve = first
        return (low - values.intercept) / values.slope, (high - values.intercept) / values.slope, curve
    if values.unit == "HU" or image.pixels.dtype == np.uint8:
        return image.black, image.white, None
    black, white = _percentiles(image)
    if (image.black, image.white) == (0.0, _FULL) and white >= _FULL / 2:
        return 0.0, _FULL, None
    return black, white, None


def first_window(image: Image) -> Shown | None:
    """The values shown black and white at first and the greys between: the file's first window, else that of a CT's
    body part; ``None`` where there is neither."""
    if image.values.windows:
        window = image.values.windows[0]
        return window.low, window.high, window.curve
    if image.values.unit == "HU":
        part = image.body_part.upper()
        return next(
            ((*edges, None) for terms, edges in CT_WINDOWS if any(word in part for word in terms)), None
        )
    return None


def as_shown(image: Image) -> Image:
    """``image`` with the ``black``, ``white`` and ``curve`` of :func:`shown_window`.

    Colour stays as it is, and floats without a window: their features were measured by their whole range.
    """
    if image.is_colour or (image.pixels.dtype.kind == "f" and first_window(image) is None):
        return image
    black, white, curve = shown_window(image)
    if (black, white, curve) == (image.black, image.white, image.curve):
        return image
    return replace(image, black=black, white=white, curve=curve)


def shown_bytes(image: Image) -> npt.NDArray[np.uint8]:
    """(h, w) grey or (h, w, 3) colour as it is first shown, 0 black to 255 white; padding is black."""
    pixels: npt.NDArray[Any] = image.pixels
    if image.is_colour:
        low, high, curve = image.black, image.white, None
        if pixels.dtype == np.uint8 and (low, high) == (0.0, 255.0) and not image.values.inverse:
            return pixels
    else:
        low, high, curve = shown_window(image)
    out = np.empty(pixels.shape, np.uint8)
    for start in range(0, len(pixels), _BLOCK_ROWS):
        greys = window_greys(pixels[start : start + _BLOCK_ROWS], low, high, curve)
        out[start : start + _BLOCK_ROWS] = np.rint(np.nan_to_num(greys, nan=0.0) * np.float32(255.0))
    if image.values.inverse:
        np.subtract(255, out, out=out)
    padded = image.padding_mask()
    if padded is not None:
        out[padded] = 0
    return out


def _percentiles(image: Image) -> tuple[float, float]:
    step = max(1, int((image.height * image.width / _SAMPLED) ** 0.5))
    sample = image.pixels[::step, ::step]
    outside = image.padding_mask()
    if outside is not None:
        valid = sample[~outside[::step, ::step]]
        sample = valid if valid.size else sample
    if sample.dtype.kind == "f":
        sample = sample[np.isfinite(sample)]
    if not sample.size:
        return image.black, image.white
    black, white = (float(one) for one in np.percentile(sample, CLIPPED))
    if white <= black:
        black, white = float(sample.min()), float(sample.max())
    return (black, white) if white > black else (image.black, image.white)
