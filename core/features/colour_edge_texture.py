"""Colour, edge direction and texture of a whole image in 36 numbers."""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.edges import edge_directions
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.resampling import finite, resampled
from semblance.core.features.wavelets import details
from semblance.core.imaging.image import LUMA, Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy

Floats = npt.NDArray[np.float32]

#: Larger images are reduced to this longest side, so that edges and texture mean the same size in a scan
#: of 3,000 pixels as in a Corel image of 384.
LONGEST_SIDE = 384

#: Gradient, in grey units per pixel, that an edge keeps everywhere and reaches somewhere.
WEAK_EDGE, STRONG_EDGE = 0.02, 0.05

BINS = 18
#: Bins of 20 degrees starting here keep the four axis directions, the commonest of all, 5 degrees or more
#: from any bin's border.
FIRST_BIN_STARTS = math.radians(-5.0)

LEVELS = 3
#: Energy of one rounding to 8 bits: what lies below is noise of the file format.
_ENERGY_FLOOR = 1e-6


@functools.cache
def _names() -> tuple[FeatureName, ...]:
    colour = [
        FeatureName(f"{channel} {moment}", "Colour")
        for channel in ("Hue", "Saturation", "Brightness")
        for moment in ("mean", "deviation", "skewness")
    ]
    edges = [
        FeatureName(tr_lazy("Edges facing {start}° to {end}°", start=start, end=start + 20), "Edge direction")
        for start in range(-5, 355, 360 // BINS)
    ]
    texture = [
        FeatureName(
            tr_lazy("Texture of {size} px, {direction}", size=2**level, direction=direction), "Texture"
        )
        for level in range(1, LEVELS + 1)
        for direction in ("vertical", "horizontal", "diagonal")
    ]
    return (*colour, *edges, *texture)


def hue_saturation_brightness(planes: Floats) -> Floats:
    """(3, h, w) from red, green, blue planes in 0..1; hue in turns from red, -0.5..0.5, 0 for greys.

    The seam of the circle lies at cyan: at red it would tear apart skin, blood and stained tissue.
    """
    red, green, blue = planes
    brightness = planes.max(axis=0)
    chroma = brightness - planes.min(axis=0)
    safe = np.where(chroma > 0, chroma, np.float32(1))
    sixths = np.where(
        brightness == red,
        (green - blue) / safe,
        np.where(
            brightness == green, (blue - red) / safe + np.float32(2), (red - green) / safe - np.float32(2)
        ),
    )
    saturation = chroma / np.where(brightness > 0, brightness, np.float32(1))
    return np.stack([np.where(chroma > 0, sixths, 0) / np.float32(6), saturation, brightness])


def moments(channels: Floats) -> Floats:
    """(c, 3) of (c, h, w): mean, standard deviation, cube root of the third central moment."""
    flat = channels.reshape(len(channels), -1)
    mean = flat.mean(axis=1, dtype=np.float64)
    centred = flat - mean[:, None].astype(np.float32)
    squared = centred * centred
    second = squared.mean(axis=1, dtype=np.float64)
    third = (squared * centred).mean(axis=1, dtype=np.float64)
    return np.stack([mean, np.sqrt(second), np.cbrt(third)], axis=1).astype(np.float32)


def direction_shares(grey: Floats) -> Floats:
    """(18,): root of the share of the image's pixels that are edges facing each direction.

    The share is of all pixels, not of the edges: the amount of edges also distinguishes images. The root
    keeps the few images full of edges from outweighing every other difference.
    """
    angles = edge_directions(grey, WEAK_EDGE, STRONG_EDGE)
    turned = np.mod((angles - np.float32(FIRST_BIN_STARTS)) * np.float32(BINS / (2 * math.pi)), BINS)
    counts = np.bincount(turned.astype(np.intp) % BINS, minlength=BINS)
    return np.asarray(np.sqrt(counts / grey.size), dtype=np.float32)


def texture_energies(grey: Floats) -> Floats:
    """(9,): natural logarithm of the mean squared wavelet coefficient, three directions of three levels."""
    energies = [np.mean(plane * plane) for level in details(grey, LEVELS) for plane in level]
    return np.asarray(np.log(np.array(energies) + _ENERGY_FLOOR), dtype=np.float32)


class ColourEdgeTexture(Extractor):
    """36 numbers for everyday images (the Corel experiment of bdm.txt, section 4.6).

    9 colour moments (mean, deviation and root of skewness of hue, saturation and brightness), 18 shares of
    edges by direction, 9 wavelet energies. Grey images give 0 for hue and saturation.
    """

    name = "colour_edge_texture"
    title = "Colour, edges and texture"
    summary = "Colour moments, edge directions and wavelet energies of the whole image: 36 numbers."
    version = 1

    COUNT: ClassVar[int] = 36

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names()

    def extract(self, image: Image, region: Region | None = None) -> Floats:
        """(36,) float32.

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        planes = _planes(image.cropped(region))
        grey = np.tensordot(LUMA, planes, axes=1)
        colour = moments(hue_saturation_brightness(planes)).reshape(-1)
        return np.concatenate([colour, direction_shares(grey), texture_energies(grey)])


def _planes(image: Image) -> Floats:
    """(3, h, w) red, green and blue in 0..1, the longest side at most ``LONGEST_SIDE``."""
    planes = np.ascontiguousarray(image.rgb().transpose(2, 0, 1))
    longest = max(image.height, image.width)
    if longest > LONGEST_SIDE:
        height = max(1, round(image.height * LONGEST_SIDE / longest))
        width = max(1, round(image.width * LONGEST_SIDE / longest))
        planes = np.stack([resampled(plane, height, width) for plane in planes])
    return np.clip(finite(planes, image), 0.0, 1.0)
