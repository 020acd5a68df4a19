"""What the images of the demo library are drawn with: random fields, thin curves and closed outlines."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Field = npt.NDArray[np.float32]

#: Fields are made larger by this factor and cropped, because a Fourier field wraps at its borders.
_MARGIN = 1.2

Points = npt.NDArray[np.float64]

#: Standard deviations, in pixels, of the pens a stroke is shared between.
_PENS = (0.55, 1.1, 2.2, 4.4)

Pairs = Sequence[tuple[float, float]]


@functools.lru_cache(maxsize=8)
def _frequencies(height: int, width: int) -> tuple[Field, Field]:
    rows = np.fft.fftfreq(height).astype(np.float32)[:, None]
    columns = np.fft.fftfreq(width).astype(np.float32)[None, :]
    return rows, columns


def _unit(field: npt.NDArray[np.float32]) -> Field:
    centred = field - field.mean()
    return np.asarray(centred / (centred.std() + 1e-12), dtype=np.float32)


class Noise:
    """Fields of one image of ``shape``, every one with zero mean and unit variance.

    White noise is drawn once and shifted for each field, because drawing it for each would cost more than everything
    else.
    """

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int]) -> None:
        from scipy.fft import next_fast_len

        self.shape = shape
        self._rng = rng
        self._padded = tuple(int(next_fast_len(int(side * _MARGIN))) for side in shape)
        white = rng.standard_normal((*self._padded, 2), dtype=np.float32)
        self._white = white.view(np.complex64)[..., 0]

    def cloudy(
        self,
        *,
        power: float = 3.0,
        stretch: float = 1.0,
        angle: float = 0.0,
        coarsest: float = 200.0,
        finest: float = 0.0,
    ) -> tuple[Field, Field]:
        """Two fields whose power falls as 1/f**power, as that of breast tissue does with power 3.

        ``stretch`` > 1 draws the grain out along ``angle`` (radians from the x axis). ``coarsest`` and
        ``finest`` are wavelengths in pixels beyond which the spectrum is flat, or cut off.

        Source: Burgess, Jacobson, Judy, "Human observer detection experiments with mammograms and
        power-law noise", Medical Physics 28 (2001), p. 419.
        """
        squared = self._squared(stretch, angle)
        amplitude = (squared + np.float32(1.0 / coarsest) ** 2) ** np.float32(-power / 4)
        if finest > 0:
            amplitude *= np.exp(np.float32(-0.5 * finest**2) * squared)
        return self._fields(amplitude)

    def grain(
        self, *, wavelength: float, octaves: float = 0.6, stretch: float = 1.0, angle: float = 0.0
    ) -> tuple[Field, Field]:
        """Two fields of one scale: a ring of ``octaves`` half-width about ``wavelength`` pixels."""
        squared = self._squared(stretch, angle) + np.float32(1e-12)
        tune = np.float32(0.5) * np.log2(squared * np.float32(wavelength**2))
        return self._fields(np.exp(np.float32(-0.5 / octaves**2) * tune**2))

    def _squared(self, stretch: float, angle: float) -> Field:
        rows, columns = _frequencies(*self._padded)
        cosine, sine = np.float32(np.cos(angle)), np.float32(np.sin(angle))
        along = (columns * cosine + rows * sine) * np.float32(stretch)
        across = rows * cosine - columns * sine
        return np.asarray(along * along + across * across, dtype=np.float32)

    def _fields(self, amplitude: Field) -> tuple[Field, Field]:
        from scipy.fft import ifft2

        amplitude[0, 0] = 0
        shift = (int(self._rng.integers(self._padded[0])), int(self._rng.integers(self._padded[1])))
        shaped = np.roll(self._white, shift, axis=(0, 1))
        shaped *= amplitude
        made = ifft2(shaped, overwrite_x=True)[: self.shape[0], : self.shape[1]]
        return _unit(made.real), _unit(made.imag)


def ridges(field: Field, width: float) -> Field:
    """Thin lines where ``field`` crosses zero, 1 on the line: sheets of tissue seen edge on."""
    return np.asarray(np.exp(-np.abs(field) / np.float32(width)), dtype=np.float32)


def blur(field: Field, sigma: float) -> Field:
    """``field`` blurred by a wide Gaussian, worked out on every fourth pixel."""
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    height, width = field.shape
    small = Image.fromarray(field).resize((-(-width // 4), -(-height // 4)), Image.Resampling.BOX)
    blurred = gaussian_filter(np.asarray(small), sigma / 4, mode="nearest", truncate=3.0)
    return np.asarray(Image.fromarray(blurred).resize((width, height), Image.Resampling.BILINEAR))


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


def smooth(*rows: Pairs | Points, n: int = 12) -> Points:
    """(n * corners, 2) a closed Catmull-Rom curve through the corners of ``rows`` in turn."""
    at = np.vstack([np.asarray(row, dtype=float) for row in rows])
    before, after, beyond = np.roll(at, 1, 0), np.roll(at, -1, 0), np.roll(at, -2, 0)
    t = np.linspace(0, 1, n, endpoint=False)[None, :, None]
    a, b, c, d = (part[:, None, :] for part in (before, at, after, beyond))
    curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return np.asarray(curve.reshape(-1, 2))


def path(corners: Pairs | Points, *, n: int = 10) -> Points:
    """An open Catmull-Rom curve through ``corners``."""
    at = np.asarray(corners, dtype=float)
    ends = np.vstack([2 * at[0] - at[1], at, 2 * at[-1] - at[-2]])
    t = np.linspace(0, 1, n, endpoint=False)[None, :, None]
    a, b, c, d = (ends[k : len(ends) - 3 + k][:, None, :] for k in range(4))
    curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return np.vstack([curve.reshape(-1, 2), at[-1:]])


def tube(axis: Points, half_width: npt.ArrayLike) -> Points:
    """The outline about a curve: ``half_width`` a number, or knots spread evenly along it; round ends."""
    knots = np.atleast_1d(np.asarray(half_width, dtype=float))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(axis, axis=0).T))])
    widths = np.interp(along / along[-1], np.linspace(0, 1, len(knots)), knots)
    heading = np.gradient(axis, axis=0)
    heading /= np.hypot(heading[:, 0], heading[:, 1])[:, None] + 1e-12
    normal = np.column_stack([-heading[:, 1], heading[:, 0]])
    one, other = axis + normal * widths[:, None], axis - normal * widths[:, None]
    turn = np.linspace(np.pi / 2, -np.pi / 2, 9)[1:-1]
    end = axis[-1] + widths[-1] * (
        np.cos(turn)[:, None] * heading[-1] * 0.6 + np.sin(turn)[:, None] * normal[-1]
    )
    start = axis[0] - widths[0] * (
        np.cos(turn)[:, None] * heading[0] * 0.6 + np.sin(turn)[:, None] * normal[0]
    )
    return np.vstack([one, end, other[::-1], start])


def ellipse(x: float, y: float, rx: float, ry: float, turn: float = 0.0, n: int = 40) -> Points:
    """An ellipse with half-axes ``rx`` and ``ry``, turned by ``turn`` radians."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    u, v = rx * np.cos(angle), ry * np.sin(angle)
    across = u * np.cos(turn) - v * np.sin(turn)
    return np.column_stack([x + across, y + u * np.sin(turn) + v * np.cos(turn)])


def mirrored(points: Points) -> Points:
    """``points`` (n, 2) with left and right exchanged."""
    return np.asarray(points * np.array([-1.0, 1.0]))


def blob(rng: np.random.Generator, x: float, y: float, rx: float, ry: float, swing: float = 0.12) -> Points:
    """A rounded irregular outline, like a carpal bone or a pocket of gas."""
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    radius = np.ones(40)
    for waves in range(2, 5):
        radius += swing * rng.normal(0, 1.2 / waves) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return np.column_stack([x + rx * radius * np.cos(angle), y + ry * radius * np.sin(angle)])
