"""Daubechies' four-tap wavelet, three lines of arithmetic per pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_ROOT = np.sqrt(3.0)
#: Orthonormal low-pass taps.
LOW = (np.array([1 + _ROOT, 3 + _ROOT, 3 - _ROOT, 1 - _ROOT]) / (4.0 * np.sqrt(2.0))).astype(np.float32)
HIGH = LOW[::-1] * np.array([1, -1, 1, -1], dtype=np.float32)


def _halves(plane: Floats) -> tuple[Floats, Floats]:
    """Low and high half of (n, w) along the first axis, (ceil(n / 2), w) each; the far border reflected."""
    padded = np.pad(plane, ((0, 2 + plane.shape[0] % 2), (0, 0)), mode="symmetric")
    even, odd = padded[::2], padded[1::2]
    now, later = (even[:-1], odd[:-1]), (even[1:], odd[1:])

    def filtered(taps: Floats) -> Floats:
        half: Floats = taps[0] * now[0] + taps[1] * now[1] + taps[2] * later[0] + taps[3] * later[1]
        return half

    return filtered(LOW), filtered(HIGH)


def details(grey: Floats, levels: int) -> list[tuple[Floats, Floats, Floats]]:
    """Detail planes of ``grey`` (h, w), finest first: high along x, high along y, high along both.

    Any size from 1 x 1 on; sides halve, rounded up, from level to level.
    """
    planes = []
    for _ in range(levels):
        low, high = _halves(grey)
        grey, along_x = (half.T for half in _halves(low.T))
        along_y, diagonal = (half.T for half in _halves(high.T))
        planes.append((along_x, along_y, diagonal))
    return planes
