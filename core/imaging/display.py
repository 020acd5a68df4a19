"""Prepare images for a viewer: smaller copies for every zoom, a histogram and a first window."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Calibration, Curve, Image, SliceFacts, ValueWindow, window_greys
from semblance.core.imaging.measurements import calibrations_of
from semblance.core.imaging.shown_range import first_window, shown_bytes, shown_window

#: Bytes of the finest level handed over: a 4,664 x 3,064 image of 16 bits goes whole, and unpacking
#: it holds the window's thread for about 20 ms.
MAX_BYTES = 40_000_000
#: Levels end where the longest side has at most this many pixels; those of slices, of which hundreds are
#: kept, earlier.
SMALLEST, MIN_SIDE_OF_SLICES = 256, 512
BINS = 64

_SAMPLED = 1 << 18
_BLOCK_ROWS = 256
_TOP_16 = 65535


@dataclass(frozen=True, eq=False)
class DisplayImage:
    """An image of ``height`` x ``width`` pixels prepared for a viewer.

    ``levels``: grey (h_i, w_i), uint8 or uint16, or colour (h_i, w_i, 3), uint8, the finest first; a pixel of
    ``levels[i]`` is the mean of ``factor(i)`` x ``factor(i)`` pixels of the image. Signed pixels are stored
    from -32768 up, so that all slices of a volume share one scale. Padding that would be bright is stored as black.
    ``reduced``: ``factor(0)``; 1 unless the image is larger than :data:`MAX_BYTES`.
    ``slope``, ``intercept``: a stored number ``s`` means the value ``s * slope + intercept``, in ``unit``
    ("HU", or nothing).
    ``counts``: (BINS,) int64, the histogram of a sample between the stored numbers ``low`` and ``high``.
    ``auto``, ``curve``: black and white of the first window, as stored numbers, and the greys between them
    (:func:`semblance.core.imaging.shown_range.shown_window`).
    ``spacing_mm``: row and column spacing of the image's own pixels where known.
    ``inverse``: high numbers are dark. ``windows``: those the file offers, on values.
    ``notes``: short facts for the corner of the view. ``slice_facts``: as those of the image. ``calibrations``: what
    its pixels measure (:func:`semblance.core.imaging.measurements.calibrations_of`).
    """

    name: str
    height: int
    width: int
    levels: tuple[npt.NDArray[Any], ...]
    reduced: int
    slope: float
    intercept: float
    unit: str
    low: float
    high: float
    counts: npt.NDArray[np.int64]
    auto: tuple[float, float]
    spacing_mm: tuple[float, float] | None = None
    inverse: bool = False
    windows: tuple[ValueWindow, ...] = ()
    notes: tuple[str, ...] = ()
    curve: Curve | None = None
    slice_facts: SliceFacts = field(default_factory=SliceFacts)
    calibrations: tuple[Calibration, ...] = ()

    @property
    def is_colour(self) -> bool:
        """Whether the levels have three channels."""
        return self.levels[0].ndim == 3

    @property
    def aspect(self) -> float:
        """The height of a pixel in its widths; 1 where the file does not say both."""
        row, column = self.spacing_mm or (0.0, 0.0)
        return row / column if min(row, column) > 0 else 1.0

    def without_pixels(self) -> DisplayImage:
        """A small copy without pixels, whose histogram and window other slices of the volume use."""
        return replace(self, levels=(self.levels[0][:1, :1].copy(),))

    def factor(self, level: int) -> int:
        """Pixels of the image, along each side, in one pixel of ``levels[level]``."""
        return self.reduced << level

    def curve_between(self, low: float, high: float) -> Curve | None:
        """The curve of the first window if the stored numbers ``low`` and ``high`` are its ends."""
        nearest = 1e-6 * (1 + abs(self.auto[1] - self.auto[0]))
        same = abs(low - self.auto[0]) <= nearest and abs(high - self.auto[1]) <= nearest
        return self.curve if same else None

    def value(self, stored: float) -> float:
        """The value of a stored number."""
        return stored * self.slope + self.intercept


def display_image(
    image: Image, *, max_bytes: int = MAX_BYTES, like: DisplayImage | None = None, smallest: int = SMALLEST
) -> DisplayImage:
    """Make ``image`` ready for a viewer; call it in a worker, it looks at every pixel.

    Levels end where the longest side has at most ``smallest`` pixels.

    A further slice of the volume that ``like`` is from takes over its histogram and first window.

    Colour images whose three channels are the same are grey. Float pixels are stored in 16 bits between
    their least and greatest finite value; what is not a number is shown black. Padding is left out of the
    histogram and of the first window.
    """
    pixels: npt.NDArray[Any] = _plain(shown_bytes(image) if image.is_colour else image.pixels)
    padded = image.padding_mask()
    scale, offset = 1.0, 0.0
    if pixels.dtype.kind == "f":
        pixels, scale, offset = _stored(pixels)
    elif pixels.dtype.kind == "i":
        offset = float(np.iinfo(np.int16).min)
        pixels = (pixels.astype(np.int16, copy=False).view(np.uint16)) ^ np.uint16(0x8000)
    pixels = _with_dark_padding(pixels, padded, image.values.inverse)
    slope = image.values.slope * scale
    intercept = image.values.slope * offset + image.values.intercept
    reduced = 1
    while pixels.nbytes > max_bytes and max(pixels.shape[:2]) > smallest:
        pixels, reduced = _halve(pixels), reduced * 2
    levels = [pixels]
    while max(levels[-1].shape[:2]) > smallest:
        levels.append(_halve(levels[-1]))
    is_further = like is not None and (like.slope, like.intercept) == (slope, intercept)
    if like is not None and is_further:
        low, high, counts = like.low, like.high, like.counts
    else:
        low, high, counts = _histogram(pixels, None if reduced > 1 else padded)
    curve: Curve | None = None
    if image.is_colour:
        auto = (0.0, 255.0)
    elif like is not None and is_further and first_window(image) is None:
        auto, curve = like.auto, like.curve
    else:
        black, white, curve = shown_window(image)
        auto = ((black - offset) / scale, (white - offset) / scale)
    return DisplayImage(
        image.name,
        image.height,
        image.width,
        tuple(levels),
        reduced,
        slope,
        intercept,
        image.values.unit,
        low,
        high,
        counts,
        auto,
        image.spacing_mm,
        image.values.inverse,
        image.values.windows,
        image.notes,
        curve,
        image.slice_facts,
        calibrations_of(image),
    )


def grey_table(
    size: int, low: float, high: float, curve: Curve | None = None, *, inverted: bool = False
) -> npt.NDArray[np.uint8]:
    """(size,) uint8: the grey, 0 black to 255 white, of every stored number 0 to ``size`` - 1 in a window."""
    greys = window_greys(np.arange(size), low, high, curve)
    table: npt.NDArray[np.uint8] = np.rint(greys * np.float32(255.0)).astype(np.uint8)
    return 255 - table if inverted else table


def first_greys(image: DisplayImage) -> npt.NDArray[np.uint8]:
    """(h, w) grey or (h, w, 3) colour of the finest level through the first window, as a viewer begins with it."""
    level = image.levels[0]
    if image.is_colour:
        return level
    size = np.iinfo(level.dtype).max + 1
    return grey_table(size, *image.auto, image.curve, inverted=image.inverse).take(level)


def _with_dark_padding(
    pixels: npt.NDArray[Any], padded: npt.NDArray[np.bool_] | None, inverse: bool
) -> npt.NDArray[Any]:
    """``pixels`` whose padding is as dark as the darkest of the image, if it is not darker already."""
    if padded is None or padded.all():
        return pixels
    if inverse:
        darkest = pixels.max(where=~padded, initial=0)
        return np.where(padded, np.maximum(pixels, darkest), pixels)
    darkest = pixels.min(where=~padded, initial=np.iinfo(pixels.dtype).max)
    return np.where(padded, np.minimum(pixels, darkest), pixels)


def _plain(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if pixels.ndim == 3:
        step = max(1, int((pixels.shape[0] * pixels.shape[1] / _SAMPLED) ** 0.5))
        few = pixels[::step, ::step]
        if _same_channels(few) and _same_channels(pixels):
            pixels = pixels[:, :, 0]
    return np.ascontiguousarray(pixels)


def _same_channels(pixels: npt.NDArray[Any]) -> bool:
    first = pixels[:, :, 0]
    return np.array_equal(first, pixels[:, :, 1]) and np.array_equal(first, pixels[:, :, 2])


def _stored(pixels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint16], float, float]:
    finite = np.isfinite(pixels)
    low = float(pixels.min(where=finite, initial=np.inf))
    high = float(pixels.max(where=finite, initial=-np.inf))
    if not low < high:
        low = low if np.isfinite(low) else 0.0
        return np.zeros(pixels.shape, np.uint16), 1.0, low
    out = np.empty(pixels.shape, np.uint16)
    for start in range(0, len(pixels), _BLOCK_ROWS):
        rows = pixels[start : start + _BLOCK_ROWS].astype(np.float64)
        rows = (np.nan_to_num(rows, nan=low, posinf=high, neginf=low) - low) * (_TOP_16 / (high - low))
        out[start : start + _BLOCK_ROWS] = np.rint(rows)
    return out, (high - low) / _TOP_16, low


def _halve(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Means of 2 x 2 pixels; an odd last row or column counts twice, so that no border is lost."""
    height, width = pixels.shape[:2]
    widened: Any = np.uint16 if pixels.dtype == np.uint8 else np.uint32
    out = np.empty(((height + 1) // 2, (width + 1) // 2, *pixels.shape[2:]), pixels.dtype)
    for start in range(0, height, 2 * _BLOCK_ROWS):
        rows = pixels[start : start + 2 * _BLOCK_ROWS]
        upper, lower = rows[0::2], rows[1::2]
        if len(lower) < len(upper):
            lower = np.concatenate([lower, upper[-1:]])
        pair: Any = upper.astype(widened)
        pair += lower
        left, right = pair[:, 0::2], pair[:, 1::2]
        if right.shape[1] < left.shape[1]:
            right = np.concatenate([right, left[:, -1:]], axis=1)
        out[start // 2 : start // 2 + len(pair)] = (left + right + 2) >> 2
    return out


def _histogram(
    pixels: npt.NDArray[Any], padded: npt.NDArray[np.bool_] | None
) -> tuple[float, float, npt.NDArray[np.int64]]:
    step = max(1, int((pixels.shape[0] * pixels.shape[1] / _SAMPLED) ** 0.5))
    sample = pixels[::step, ::step]
    if padded is not None:
        valid = sample[~padded[::step, ::step]]
        sample = valid if valid.size else sample
    if pixels.dtype == np.uint8:
        low, high = 0.0, 256.0
    else:
        lowest, highest = int(sample.min()), int(sample.max())
        # Bins of a whole number of grey values: others would count one value more in every few.
        width = -(-(highest - lowest + 1) // BINS)
        low, high = float(lowest), float(lowest + width * BINS)
    counts, _ = np.histogram(sample, BINS, (low, high))
    return low, high, counts.astype(np.int64)
