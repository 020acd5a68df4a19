"""Thin curves laid on an image with sub-pixel care: spicules, vessels, ligaments, sutures."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from semblance.core.demo.noise import Field

Points = npt.NDArray[np.float64]

#: Standard deviations, in pixels, of the pens a stroke is shared between.
_PENS = (0.55, 1.1, 2.2, 4.4)


@dataclass
class Strokes:
    """Collects curves, then draws them all at once.

    A curve is dense points (n, 2) in pixels (x, y) with a half-width and a brightness at each; the
    half-width is shared between neighbouring pens, so a curve tapers smoothly.
    """

    shape: tuple[int, int]
    _points: list[Points] = field(default_factory=list)
    _widths: list[npt.NDArray[np.float64]] = field(default_factory=list)
    _weights: list[npt.NDArray[np.float64]] = field(default_factory=list)

    def add(self, points: Points, width: npt.ArrayLike, brightness: npt.ArrayLike) -> None:
        """Lay one curve; ``width`` and ``brightness`` are numbers or one number per point."""
        dense, position = _resample(points)
        if len(dense) < 2:
            return
        old = np.arange(len(points), dtype=float)
        self._points.append(dense)
        self._widths.append(np.interp(position, old, np.broadcast_to(width, (len(points),))))
        self._weights.append(np.interp(position, old, np.broadcast_to(brightness, (len(points),))))

    def dots(self, points: Points, width: npt.ArrayLike, brightness: npt.ArrayLike) -> None:
        """Lay single dots (n, 2) of peak ``brightness``."""
        widths = np.broadcast_to(np.asarray(width, dtype=float), (len(points),))
        self._points.append(points)
        self._widths.append(widths)
        self._weights.append(
            np.broadcast_to(brightness, (len(points),)) * widths * np.sqrt(2 * np.pi) / _STEP
        )

    def drawn(self) -> Field:
        """(h, w) the sum of all curves; a straight curve of brightness 1 has a ridge of height about 1."""
        from scipy.ndimage import gaussian_filter

        height, width = self.shape
        out = np.zeros(self.shape, dtype=np.float32)
        if not self._points:
            return out
        points, widths = np.concatenate(self._points), np.concatenate(self._widths)
        weights = np.concatenate(self._weights) * widths * np.sqrt(2 * np.pi) * _STEP
        pens = np.log2(np.clip(widths, _PENS[0], _PENS[-1]) / _PENS[0])
        for number, sigma in enumerate(_PENS):
            share = weights * np.clip(1.0 - np.abs(pens - number), 0.0, 1.0)
            used = share != 0
            if used.any():
                laid = _splat(points[used], share[used], height, width)
                out += gaussian_filter(laid, sigma, mode="constant", truncate=3.0)
        return out


_STEP = 0.5


def _resample(points: Points) -> tuple[Points, npt.NDArray[np.float64]]:
    """Points every half pixel, and their places among the given ones (0 the first, 1 the second, ..)."""
    gaps = np.diff(points, axis=0)
    along = np.zeros(len(points))
    np.cumsum(np.hypot(gaps[:, 0], gaps[:, 1]), out=along[1:])
    if along[-1] <= _STEP:
        return points[:1], np.zeros(1)
    place = np.interp(np.arange(0.0, along[-1], _STEP), along, np.arange(len(points), dtype=float))
    low = place.astype(np.intp)
    share = (place - low)[:, None]
    return points[low] * (1 - share) + points[np.minimum(low + 1, len(points) - 1)] * share, place


def _splat(points: Points, weights: npt.NDArray[np.float64], height: int, width: int) -> Field:
    """Each weight shared between the four pixels around its point."""
    left, top = np.floor(points[:, 0]).astype(np.intp), np.floor(points[:, 1]).astype(np.intp)
    right_share, bottom_share = points[:, 0] - left, points[:, 1] - top
    out = np.zeros(height * width)
    for dx, share_x in ((0, 1 - right_share), (1, right_share)):
        for dy, share_y in ((0, 1 - bottom_share), (1, bottom_share)):
            x, y = left + dx, top + dy
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            out += np.bincount(
                (y * width + x)[inside], (weights * share_x * share_y)[inside], minlength=height * width
            )
    return out.reshape(height, width).astype(np.float32)


def random_curve(
    rng: np.random.Generator, start: npt.ArrayLike, angle: float, length: float, bend: float, n: int = 24
) -> Points:
    """(n, 2) a curve from ``start`` along ``angle`` whose heading drifts by about ``bend`` radians."""
    drift = rng.standard_normal(n)
    heading = (
        angle + np.cumsum(drift[1:]) * (bend / np.sqrt(n)) + drift[0] * bend / 2 * np.arange(n - 1) / (n - 2)
    )
    steps = np.zeros((n, 2))
    steps[1:, 0], steps[1:, 1] = np.cos(heading), np.sin(heading)
    return np.asarray(np.asarray(start, dtype=float) + np.cumsum(steps, axis=0) * (length / (n - 1)))
