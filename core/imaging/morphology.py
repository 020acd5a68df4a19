"""Openings of grey images by squares, and means of blocks, many times faster than those of scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Grey = npt.NDArray[np.uint8]


def opened(values: Grey, side: int) -> Grey:
    """``values`` (h, w) without what is brighter than its surroundings and thinner than ``side`` pixels (odd)."""
    return extremes(extremes(values, side, np.minimum), side, np.maximum)


def extremes(values: Grey, side: int, extreme: Callable[[Grey, Grey], Grey]) -> Grey:
    """(h, w) the minimum or maximum (``np.minimum``, ``np.maximum``) of the square of ``side`` pixels, an odd number,
    around each pixel."""
    out = np.pad(values, side // 2, mode="edge")
    for _ in range(2):
        reach = 1
        while reach < side:
            step = min(reach, side - reach)
            out, reach = extreme(out[:-step], out[step:]), reach + step
        out = out.T
    return out


def block_means(values: npt.NDArray[Any], factor: int) -> npt.NDArray[np.float32]:
    """(h // factor, w // factor) the means of blocks of ``factor`` x ``factor`` pixels of ``values`` (h, w)."""
    if factor == 1:
        return np.asarray(values, np.float32)
    rows, columns = (side // factor for side in values.shape)
    blocks = values[: rows * factor, : columns * factor].reshape(rows, factor, columns, factor)
    out: npt.NDArray[np.float32] = blocks.mean(axis=(1, 3), dtype=np.float32)
    return out
