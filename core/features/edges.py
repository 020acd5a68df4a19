"""Edges of a grey image and the directions they face."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

#: tan(22.5 degrees): where the neighbour across an edge stops being a horizontal or vertical one.
_EIGHTH_TURN = float(np.sqrt(2.0) - 1.0)


def gradients(grey: Floats) -> tuple[Floats, Floats]:
    """(h, w) derivatives along x (right) and y (down) in grey units per pixel; borders reflected.

    Sobel's operator on the image smoothed with (1, 4, 6, 4, 1) / 16 both ways, a sigma of one pixel.
    """
    padded = np.pad(grey, 3, mode="symmetric")
    smooth = _smoothed(_smoothed(padded).T).T
    across = smooth[:-2] + 2.0 * smooth[1:-1] + smooth[2:]
    down = smooth[2:] - smooth[:-2]
    gx = (across[:, 2:] - across[:, :-2]) * np.float32(1 / 8)
    gy = (down[:, :-2] + 2.0 * down[:, 1:-1] + down[:, 2:]) * np.float32(1 / 8)
    return gx, gy


def _smoothed(plane: Floats) -> Floats:
    near, far = plane[1:-3] + plane[3:-1], plane[:-4] + plane[4:]
    smooth: Floats = near * np.float32(1 / 4) + plane[2:-2] * np.float32(3 / 8) + far * np.float32(1 / 16)
    return smooth


def edge_directions(grey: Floats, weak: float, strong: float) -> Floats:
    """(m,) radians: the gradient direction, dark to bright, of every edge pixel of ``grey`` (h, w).

    Canny's rule: the gradient is largest across the edge, at least ``weak`` grey units per pixel, and the
    pixel belongs to an 8-connected line that somewhere reaches ``strong``. 0 is right, pi / 2 is down.
    """
    from scipy import ndimage

    gx, gy = gradients(grey)
    strength = np.pad(gx * gx + gy * gy, 1)
    row = strength.shape[1]
    around = strength.ravel()
    found = np.flatnonzero(strength >= weak * weak)
    inside = np.pad(gx, 1).ravel()[found], np.pad(gy, 1).ravel()[found]
    step = _step_across(*inside, row)
    own = around[found]
    # On a plateau of two equal pixels exactly one is kept.
    crest = (own >= around[found - step]) & (own > around[found + step])
    crest_pixels = found[crest]
    lines = np.zeros(strength.shape, dtype=bool)
    lines.ravel()[crest_pixels] = True
    labels, count = ndimage.label(lines, structure=np.ones((3, 3), dtype=int))
    of_pixel = labels.ravel()[crest_pixels]
    firm = np.zeros(count + 1, dtype=bool)
    firm[of_pixel[own[crest] >= strong * strong]] = True
    chosen = firm[of_pixel]
    angles: Floats = np.arctan2(inside[1][crest][chosen], inside[0][crest][chosen])
    return angles


def _step_across(gx: Floats, gy: Floats, row: int) -> npt.NDArray[np.intp]:
    """The step in a flattened image of ``row`` columns to the neighbour the gradient points at."""
    flat = np.abs(gy) <= _EIGHTH_TURN * np.abs(gx)
    steep = np.abs(gx) <= _EIGHTH_TURN * np.abs(gy)
    right = np.where(gx >= 0, 1, -1)
    down = np.where(gy >= 0, row, -row)
    return np.where(flat, right, np.where(steep, down, right + down)).astype(np.intp, copy=False)
