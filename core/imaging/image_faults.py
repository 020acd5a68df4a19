"""Faults of images: those that show nothing or lack a part, and mammograms that are mirrored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Grey = npt.NDArray[np.float32]

#: An image is blank if this share of its pixels differs by less than this, of 1, from its median.
_BLANK_SHARE, _BLANK_RANGE = 0.999, 0.02
#: A part is missing if a side has at least this share of rows of one and the same grey.
MISSING_SHARE = 0.1
#: The image must end abruptly there: this share of its last row differs by this much from that grey.
_ABRUPT_SHARE, _ABRUPT_STEP = 0.2, 0.08
#: Bands of nearly equal size and one grey on both sides are a margin.
_MARGIN_RATIO = 0.5


def is_blank(grey: Grey) -> bool:
    """Whether ``grey`` (h, w) of 0 to 1 has one grey all over."""
    near = np.abs(grey - np.median(grey)) < _BLANK_RANGE
    return bool(near.mean() >= _BLANK_SHARE)


def missing_share(grey: Grey) -> float:
    """The share of ``grey`` (h, w) of 0 to 1 that is missing at its lower or right side; 0 for none.

    An interrupted copy leaves a band of one grey there. A black background ends gradually, and a margin stands
    on both sides.
    """
    return max(_missing_rows(grey), _missing_rows(grey.T))


def _missing_rows(grey: Grey) -> float:
    last, n = _uniform_rows(grey[::-1]), len(grey)
    if not MISSING_SHARE * n <= last < n:
        return 0.0
    if grey[0, 0] == grey[-1, 0] and _uniform_rows(grey) >= _MARGIN_RATIO * last:
        return 0.0
    step = np.abs(grey[n - last - 1] - grey[-1, 0])
    return last / n if float((step > _ABRUPT_STEP).mean()) >= _ABRUPT_SHARE else 0.0


def _uniform_rows(grey: Grey) -> int:
    """The first rows that have one and the same grey."""
    other = (grey != grey[0, 0]).any(axis=1)
    return int(other.argmax()) if other.any() else len(grey)


#: The breast is found in a copy whose longest side has about this many pixels.
_LONGEST = 160
#: Share of the image that a breast fills at least and at most.
_SMALLEST, _LARGEST = 0.03, 0.9
_SMOOTHING = 1.5


def chest_wall_side(grey: npt.NDArray[np.float32]) -> float:
    """Where the chest wall lies in the mammogram ``grey`` (h, w) of 0 to 1: -1 left to +1 right, 0 for unclear.

    At the chest wall the image is cut off along a straight line, so the outline of the breast has nearly the same
    column in most rows there. Towards the nipple it is curved.
    """
    from scipy.ndimage import binary_fill_holes, gaussian_filter, label
    from skimage.filters import threshold_otsu

    step = max(1, max(grey.shape) // _LONGEST)
    small = gaussian_filter(grey[::step, ::step], _SMOOTHING)
    if float(small.max() - small.min()) < 1e-3:
        return 0.0
    # Otsu divides dense from fatty tissue where there is much of both: half of it divides tissue from air.
    threshold = 0.5 * float(threshold_otsu(small))  # type: ignore[no-untyped-call]
    labels, n = label(small > threshold)
    if not n:
        return 0.0
    breast = binary_fill_holes(labels == 1 + int(np.bincount(labels.ravel())[1:].argmax()))
    if not _SMALLEST <= float(breast.mean()) <= _LARGEST:
        return 0.0
    rows = breast[breast.any(axis=1)]
    left, right = rows.argmax(axis=1), rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    left_spread, right_spread = (float(np.abs(edge - np.median(edge)).mean()) for edge in (left, right))
    return (left_spread - right_spread) / max(left_spread + right_spread, 1e-6)
