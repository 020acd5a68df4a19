"""Colour, edge direction and texture of a whole image in 36 numbers."""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import LUMA, Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy

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
