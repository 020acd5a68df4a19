"""How far one image is shifted against another one of the same level, by phase correlation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.tasks import SILENT, Reporter

Floats = npt.NDArray[np.float32]

#: Both images are sampled at so many points along each side of a square, which covers the larger one.
_SIDE = 256
#: A shift by more than this part of the square is none that a patient's position explains.
FARTHEST = 0.25
#: Below this correlation after the shift, a difference shows more of what was not registered than of what changed.
LEAST_MATCH = 0.8


@dataclass(frozen=True, eq=False)
class ShownGreys:
    """Greys (h, w), 0 to 1, as an image is displayed, and the mm from row to row and from column to column; ``None``
    where these are unknown."""

    greys: Floats
    spacing_mm: tuple[float, float] | None


@dataclass(frozen=True)
class InPlaneShift:
    """By how much the second image is moved, once its middle lies on that of the first, to fit on it: ``right`` and
    ``down``, in mm, or in shares of the width and height where distances are unknown (``is_mm``). ``before`` and
    ``match``: the correlation of greys without and with this shift."""

    right: float
    down: float
    is_mm: bool
    before: float
    match: float

    @property
    def is_registered(self) -> bool:
        """Whether the images match well enough for their difference to show changes."""
        return self.match >= LEAST_MATCH


def in_plane_shift(one: ShownGreys, other: ShownGreys, *, reporter: Reporter = SILENT) -> InPlaneShift:
    """The shift of ``other`` with which it fits best on ``one`` (Kuglin and Hines, "The phase correlation image
    alignment method", 1975), no rotation and no change of size."""
    is_mm = one.spacing_mm is not None and other.spacing_mm is not None
    sizes = [_size(each, is_mm=is_mm) for each in (one, other)]
    # Height and width of the square: shares are of each image's own height and width.
    side = max(max(size) for size in sizes) if is_mm else 1.0
    pixels = [_sampled(each.greys, size, side) for each, size in zip((one, other), sizes, strict=True)]
    reporter.check_cancelled()
    before = _correlation(pixels[0], pixels[1], 0.0, 0.0)
    down, right = _peak(pixels[0], pixels[1])
    match = _correlation(pixels[0], pixels[1], down, right)
    if match <= before:
        down = right = 0.0
        match = before
    step = side / _SIDE
    return InPlaneShift(right * step, down * step, is_mm, before, match)


def _size(one: ShownGreys, *, is_mm: bool) -> tuple[float, float]:
    """Height and width in mm, or 1 and 1."""
    if not is_mm or one.spacing_mm is None:
        return 1.0, 1.0
    height, width = one.greys.shape
    return height * one.spacing_mm[0], width * one.spacing_mm[1]


def _sampled(greys: Floats, size: tuple[float, float], side: float) -> Floats:
    """(_SIDE, _SIDE) of a square of ``side`` whose middle is that of the image of ``size``; 0 outside."""
    from scipy.ndimage import map_coordinates, uniform_filter

    height, width = greys.shape
    middle = (np.arange(_SIDE) + 0.5) / _SIDE - 0.5
    rows = (middle * side / size[0] + 0.5) * height - 0.5
    columns = (middle * side / size[1] + 0.5) * width - 0.5
    coarser = max(1, round(side / size[0] * height / _SIDE), round(side / size[1] * width / _SIDE))
    smooth = uniform_filter(greys, coarser) if coarser > 1 else greys
    at = np.meshgrid(rows, columns, indexing="ij")
    return np.asarray(map_coordinates(smooth, at, order=1, cval=0.0), dtype=np.float32)


def _peak(one: Floats, other: Floats) -> tuple[float, float]:
    """(down, right) in samples, between them by a parabola."""
    window = np.hanning(_SIDE)[:, np.newaxis] * np.hanning(_SIDE)
    spectra = [np.fft.rfft2((each - each.mean()) * window) for each in (one, other)]
    cross = spectra[0] * np.conj(spectra[1])
    # Whitening alone would follow the noise: the weak frequencies count less.
    strength = np.abs(cross)
    found = np.fft.irfft2(cross / (strength + 0.01 * strength.max() + 1e-12), (_SIDE, _SIDE))
    most = int(FARTHEST * _SIDE)
    near = np.fft.fftshift(found)[
        _SIDE // 2 - most : _SIDE // 2 + most + 1, _SIDE // 2 - most : _SIDE // 2 + most + 1
    ]
    row, column = np.unravel_index(int(near.argmax()), near.shape)
    return (
        float(row) - most + _between(near[:, column], int(row)),
        float(column) - most + _between(near[row], int(column)),
    )


def _between(values: npt.NDArray[np.float64], at: int) -> float:
    """Where the parabola through the values at and beside ``at`` is largest, -0.5 to 0.5."""
    if not 0 < at < len(values) - 1:
        return 0.0
    before, here, after = (float(values[at + step]) for step in (-1, 0, 1))
    bend = before - 2 * here + after
    return 0.0 if bend >= 0 else float(np.clip(0.5 * (before - after) / bend, -0.5, 0.5))


def _correlation(one: Floats, other: Floats, down: float, right: float) -> float:
    """Pearson's, of ``one`` and of ``other`` shifted, where both have pixels."""
    from scipy.ndimage import shift

    moved = shift(other, (down, right), order=1, cval=np.nan) if down or right else other
    both = np.isfinite(moved)
    a, b = one[both].astype(np.float64), moved[both].astype(np.float64)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0
