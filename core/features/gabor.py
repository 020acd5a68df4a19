"""Gabor features: how strong stripes of five widths and eight directions are, block by block."""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.gabor_bank import FREQUENCIES, GRID, ORIENTATIONS, SIZE, gabor_bank
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy


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
