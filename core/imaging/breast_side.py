"""On which side of a mammogram the chest wall lies, by the outline of the breast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
