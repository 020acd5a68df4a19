"""Responses of a small filter bank at places of a region, to be counted as textons."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.local.local_extractor import (
    LocalExtractor,
    grid_points,
    relative_positions,
    scaled_planes,
)
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.parameters import Parameter

Floats = npt.NDArray[np.float32]

#: Larger images are reduced to this longest side.
LONGEST_SIDE = 384

SMOOTH, BLOBS, EDGES = (1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0), (2.0, 4.0)

#: CIE Lab of red, green and blue in 0..1 (D65): L, a, b.
_LAB = ((0.0, 100.0), (-86.2, 98.3), (-107.9, 94.5))
#: What L between 0 and 100 can give at most: the integral of a filter's positive part, times 100.
_BLOB = 100.0 * 2.0 / math.e
_EDGE = 100.0 / math.sqrt(2.0 * math.pi)
_BOUNDS = (
    *(bound for bound in _LAB for _ in SMOOTH),
    *((-_BLOB, _BLOB) for _ in BLOBS),
    *((-_EDGE, _EDGE) for _ in EDGES for _ in ("down", "right")),
)

PACKING = DescriptorPacking(
    low=tuple(low for low, _ in _BOUNDS), high=tuple(high for _, high in _BOUNDS), bits=12, whitened=True
)


class Textons(LocalExtractor):
    """17 filter responses at ``points`` places, for the step ``codebook`` (boostmetric.txt 4.3.2).

    Of CIE Lab: Gaussians of L, a and b (sigma 1, 2, 4 pixels), Laplacians of Gaussian of L (1, 2, 4, 8),
    first derivatives of L down and right (2, 4), after Winn, Criminisi, Minka 2005. Places lie on a grid
    inside the region's outline. Responses are kept in 4,096 steps over the range they can have, two to a
    column: 9 columns a place, 37 KB an image of 1,024 places.
    """

    name = "textons"
    title = "Textons"
    summary = "Colour, blobs and edges at places of a region; the step codebook counts them as textons."
    version = 1
    local = PACKING
    group = "Responses"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("points", 1024, "Points whose filter responses are stored.", minimum=16, maximum=8192),
    )

    @staticmethod
    def _column_name(point: int, first: int, last: int) -> str:
        return tr_lazy("Point {point}, responses {first}–{last}", point=point, first=first, last=last)

    def extract(self, image: Image, region: Region | None = None) -> Floats:
        """(points * 9,) float32, whole numbers; -1 in all columns of a place there is not.

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        planes, inside = scaled_planes(image, region, longest=LONGEST_SIDE)
        at = grid_points(inside, self._points)
        found = responses(lab_of(planes))[:, at[:, 0], at[:, 1]]
        return PACKING.pack(found.T, self._points)

    def keypoints(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float64]:
        """(p, 2) positions of the described points, as :meth:`Extractor.keypoints`."""
        _, inside = scaled_planes(image, region, longest=LONGEST_SIDE)
        return relative_positions(grid_points(inside, self._points), inside)


def lab_of(planes: Floats) -> Floats:
    """(3, h, w) L 0..100, a and b of planes (1 or 3, h, w) in 0..1; a and b of grey are 0."""
    from skimage.color import rgb2lab

    colour = np.broadcast_to(planes, (3, *planes.shape[1:])).transpose(1, 2, 0)
    lab = np.ascontiguousarray(rgb2lab(colour).transpose(2, 0, 1), dtype=np.float32)
    if len(planes) == 1:
        lab[1:] = 0.0
    return lab


def responses(lab: Floats) -> Floats:
    """(17, h, w) of (3, h, w) L, a, b; borders reflected, filters cut at 4 sigma.

    Laplacians are times sigma squared and derivatives times sigma, so that all scales have one range.
    """
    from scipy import ndimage

    lightness = lab[0]
    smooth = [ndimage.gaussian_filter(plane, sigma) for plane in lab for sigma in SMOOTH]
    blobs = [sigma**2 * ndimage.gaussian_laplace(lightness, sigma) for sigma in BLOBS]
    edges = [
        sigma * ndimage.gaussian_filter(lightness, sigma, order=order)
        for sigma in EDGES
        for order in ((1, 0), (0, 1))
    ]
    return np.stack([*smooth, *blobs, *edges]).astype(np.float32, copy=False)
