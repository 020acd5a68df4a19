"""Gabor features: how strong stripes of five widths and eight directions are, block by block."""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy

SIZE = 128
GRID = 8
FREQUENCIES = tuple(0.4 / math.sqrt(2.0) ** scale for scale in range(5))
ORIENTATIONS = tuple(math.pi * turn / 8 for turn in range(8))

#: Sigma times frequency of a filter of one octave, and the reach of its window in sigmas:
#: scikit-image's ``bandwidth=1`` and ``n_stds=3``.
_SIGMA_CYCLES = 3.0 / math.pi * math.sqrt(math.log(2.0) / 2.0)
_REACH = 3.0

#: Rows or columns given by one matrix product. Wider bands multiply more zeros, narrower ones leave the
#: products too small to run at full speed.
_BAND = 32

#: Turns between the axes: their mirror images 8 - turn differ from them by a conjugation only.
_OBLIQUE = (1, 2, 3)

Floats = npt.NDArray[np.float32]


def kernel(frequency: float, turn: int) -> npt.NDArray[np.complex128]:
    """The factor along x of the filter at ``turn`` eighths of a half circle, 0..4; odd length.

    The factor along y of that filter is the one of ``4 - turn``: sigma is the same both ways, so the
    kernel, its rectangular window included, is the outer product of the two.
    """
    sigma = _SIGMA_CYCLES / frequency
    along, across = math.cos(math.pi * turn / 8), math.sin(math.pi * turn / 8)
    reach = math.ceil(max(_REACH * sigma * along, _REACH * sigma * across, 1.0))
    offset = np.arange(-reach, reach + 1)
    wave = np.exp(-0.5 * (offset / sigma) ** 2 + 2j * math.pi * frequency * along * offset)
    return np.asarray(wave / (math.sqrt(2.0 * math.pi) * sigma), dtype=np.complex128)


def reflecting_matrix(taps: npt.NDArray[np.complex128], size: int) -> npt.NDArray[np.complex128]:
    """(size, size) matrix A with ``A @ v`` the convolution of ``v`` with ``taps``, borders reflected.

    Reflection repeats the border pixel (``d c b a | a b c d | d c b a``); ``taps`` may reach ``size`` far.
    """
    reach = len(taps) // 2
    matrix = np.zeros((size, size), dtype=np.complex128)
    row = np.arange(size)
    for tap, offset in zip(taps, range(-reach, reach + 1), strict=True):
        source = row - offset
        source = np.where(source < 0, -1 - source, source)
        source = np.where(source >= size, 2 * size - 1 - source, source)
        np.add.at(matrix, (row, source), tap)
    return matrix


@dataclass(frozen=True)
class _Band:
    """What gives the rows (first pass) or columns (second pass) ``target`` of a scale.

    ``source`` are the rows or columns needed for it. ``oblique`` holds the real and the imaginary matrices
    for ``_OBLIQUE``, ``wave`` those of the full frequency, ``flat`` the one of frequency zero.
    """

    target: slice
    source: slice
    oblique: Floats
    wave: Floats
    flat: Floats


def _band(
    matrices: list[npt.NDArray[np.complex128]], turns: tuple[int, ...], reach: int, start: int
) -> _Band:
    target = slice(start, start + _BAND)
    source = slice(max(0, start - reach), min(SIZE, start + _BAND + reach))
    part = [matrix[target, source] for matrix in matrices]
    return _Band(
        target,
        source,
        np.array([[part[turn].real, part[turn].imag] for turn in turns], dtype=np.float32),
        np.array([part[0].real, part[0].imag], dtype=np.float32),
        part[4].real.astype(np.float32),
    )


def _transposed(band: _Band) -> _Band:
    return _Band(
        band.target,
        band.source,
        np.ascontiguousarray(band.oblique.transpose(1, 0, 3, 2)),
        np.ascontiguousarray(band.wave.transpose(0, 2, 1)),
        np.ascontiguousarray(band.flat.T),
    )


class _Workspace(threading.local):
    """Scratch planes of one thread; fresh ones for every image would cost more than filling them."""

    def __init__(self) -> None:
        plane = (SIZE, SIZE)
        #: Along y filtered: per oblique turn minus imaginary, real, imaginary.
        self.oblique = np.empty((len(_OBLIQUE), 3, *plane), dtype=np.float32)
        #: Real and imaginary part for the full frequency along y, then frequency zero.
        self.straight = np.empty((3, *plane), dtype=np.float32)
        self.real_part = np.empty((len(_OBLIQUE), 2 * SIZE, SIZE), dtype=np.float32)
        self.imaginary_part = np.empty_like(self.real_part)
        self.response = np.empty((len(ORIENTATIONS), 2, *plane), dtype=np.float32)
        self.magnitude = np.empty((len(ORIENTATIONS), *plane), dtype=np.float32)


class GaborBank:
    """Five scales x eight orientations over 128 x 128 images; safe to share between threads.

    Equal to ``skimage.filters.gabor(image, frequency, theta, mode="reflect")`` up to float32 rounding,
    with theta the direction of the wave, from x towards y (down).
    """

    def __init__(self) -> None:
        self._scales = [self._bands(frequency) for frequency in FREQUENCIES]
        self._workspace = _Workspace()

    @staticmethod
    def _bands(frequency: float) -> tuple[list[_Band], list[_Band]]:
        factors = [kernel(frequency, turn) for turn in range(5)]
        matrices = [reflecting_matrix(factor, SIZE) for factor in factors]
        reach = max(len(factor) for factor in factors) // 2
        along_y = tuple(4 - turn for turn in _OBLIQUE)
        starts = range(0, SIZE, _BAND)
        return (
            [_band(matrices, along_y, reach, start) for start in starts],
            [_transposed(_band(matrices, _OBLIQUE, reach, start)) for start in starts],
        )

    def magnitudes(self, grey: Floats, scale: int) -> Floats:
        """(8, 128, 128) magnitudes of ``grey`` (128, 128) at one scale; overwritten by the next call.

        With A the filter along y and B along x, a turn needs A P B and its mirror image A P conj(B) of the
        image P. For R = A P both come from the same two products, U = R Re(B) and V = i R Im(B): U + V
        and U - V. With the planes of R stacked as -Im, Re, Im, the rows of i R are those of R one plane
        earlier.
        """
        space = self._workspace
        first, second = self._scales[scale]
        for band in first:
            np.matmul(band.oblique, grey[band.source], out=space.oblique[:, 1:, band.target])
            np.matmul(band.wave, grey[band.source], out=space.straight[:2, band.target])
            np.matmul(band.flat, grey[band.source], out=space.straight[2, band.target])
        np.negative(space.oblique[:, 2], out=space.oblique[:, 0])
        stacked = space.oblique.reshape(len(_OBLIQUE), 3 * SIZE, SIZE)
        plain, turned = stacked[:, SIZE:], stacked[:, : 2 * SIZE]
        for band in second:
            np.matmul(plain[:, :, band.source], band.oblique[0], out=space.real_part[:, :, band.target])
            np.matmul(turned[:, :, band.source], band.oblique[1], out=space.imaginary_part[:, :, band.target])
            np.matmul(space.straight[2, :, band.source], band.wave, out=space.response[0, :, :, band.target])
            np.matmul(space.straight[:2, :, band.source], band.flat, out=space.response[4, :, :, band.target])
        parts = space.response.reshape(len(ORIENTATIONS), 2 * SIZE, SIZE)
        np.add(space.real_part, space.imaginary_part, out=parts[1:4])
        np.subtract(space.real_part, space.imaginary_part, out=parts[:4:-1])
        np.multiply(parts, parts, out=parts)
        np.add(space.response[:, 0], space.response[:, 1], out=space.magnitude)
        return np.sqrt(space.magnitude, out=space.magnitude)

    def block_means(self, grey: Floats) -> Floats:
        """(5, 8, 8, 8) float32 of ``grey`` (128, 128): scale, orientation, block row, block column."""
        grey = np.ascontiguousarray(grey, dtype=np.float32)
        block = SIZE // GRID
        means = np.empty((len(FREQUENCIES), len(ORIENTATIONS), GRID, GRID), dtype=np.float32)
        for scale in range(len(FREQUENCIES)):
            blocks = self.magnitudes(grey, scale).reshape(-1, GRID, block, GRID, block)
            means[scale] = blocks.sum(axis=2).sum(axis=-1)
        return means * np.float32(1.0 / block**2)


@functools.cache
def gabor_bank() -> GaborBank:
    """The bank of this process."""
    return GaborBank()


@functools.cache
def _names() -> tuple[FeatureName, ...]:
    return tuple(
        FeatureName(
            tr_lazy(
                "Gabor {wavelength} px, {angle:g}°, row {row}, column {column}",
                wavelength=wavelength,
                angle=math.degrees(angle),
                row=row,
                column=column,
            ),
            tr_lazy("Gabor, {wavelength} px", wavelength=wavelength),
        )
        for wavelength in (f"{1.0 / frequency:.2g}" for frequency in FREQUENCIES)
        for angle in ORIENTATIONS
        for row in range(1, GRID + 1)
        for column in range(1, GRID + 1)
    )


class Gabor(Extractor):
    """2,560 mean magnitudes of Gabor responses (bdm.txt, section 4.4.2).

    The grey image, 0..1, is resampled to 128 x 128 pixels whatever its shape; five scales (0.4 / sqrt(2)^s
    cycles per pixel) x eight orientations are averaged over 8 x 8 blocks of 16 x 16 pixels. Order: scale,
    orientation, block row, block column; see :data:`LAYOUT`.
    """

    #: Shape into which the numbers of one image fold: scale, orientation, block row, block column.
    LAYOUT: ClassVar[tuple[int, int, int, int]] = (len(FREQUENCIES), len(ORIENTATIONS), GRID, GRID)

    name = "gabor"
    title = "Gabor texture"
    summary = "Strength of stripes of five widths and eight directions in 8 x 8 blocks: 2,560 numbers."
    version = 1

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(2560,) float32, in the grey units of the image (white is 1).

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        grey = finite(resampled(image.cropped(region).grey(), SIZE, SIZE), image)
        return gabor_bank().block_means(grey).reshape(-1)
