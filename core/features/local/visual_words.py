"""SIFT descriptors at interest points and on a grid, to be counted as visual words."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.local.local_extractor import (
    LocalExtractor,
    grey_of,
    grid_points,
    relative_positions,
    scaled_planes,
)
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.parameters import Parameter

Doubles = npt.NDArray[np.float64]

#: Larger images are reduced to this longest side; narrower sides than the other are stretched to it.
LONGEST_SIDE, SHORTEST_SIDE = 384, 32
#: Scales of the grid, pixels; a descriptor looks at 12 of them across.
DENSE_SCALES = (2.0, 4.0)
#: Radians by which those of the grid lean: scikit-image gives a gradient that lies exactly between two of its
#: bins, as upright edges would, a weight of -1e-17 in a third, which becomes 255 there.
LEAN = 1e-3
#: Where grey changes by less from pixel to pixel, there is nothing to describe but rounding.
FLAT = 1e-8

PACKING = DescriptorPacking(low=(0.0,) * 128, high=(255.0,) * 128, bits=8)


class VisualWords(LocalExtractor):
    """SIFT descriptors (Lowe 2004) of ``points`` places, for the step ``codebook`` (boostmetric.txt 4.3).

    Up to half of them at interest points (extrema of differences of Gaussians, turned to their gradient; of more,
    evenly many of every scale), the others on a grid in two scales, upright. Only places inside the region's outline
    count, but descriptors also cover their surroundings. A descriptor is 128 bytes, three to a column: 43 columns a
    place, 44 KB an image of 256 places. Where the image is flat all of them are 0. The paper's detector
    (Harris-affine) is not in scikit-image; its detector of SIFT's own takes its part.
    """

    name = "visual_words"
    title = "Visual words (SIFT)"
    summary = "SIFT at interest points and on a grid; the step codebook counts them as visual words."
    version = 1
    local = PACKING
    group = "SIFT"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("points", 256, "Described points, half of them interest points.", minimum=16, maximum=2048),
    )

    @staticmethod
    def _column_name(point: int, first: int, last: int) -> str:
        return tr_lazy("Point {point}, SIFT {first}–{last}", point=point, first=first, last=last)

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(points * 43,) float32, whole numbers; -1 in all columns of a place there is not.

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        planes, inside = scaled_planes(image, region, longest=LONGEST_SIDE, shortest=SHORTEST_SIDE)
        return PACKING.pack(sift(grey_of(planes), inside, self._points), self._points)

    def keypoints(self, image: Image, region: Region | None = None) -> Doubles:
        """(p, 2) positions of the described points, as :meth:`Extractor.keypoints`."""
        planes, inside = scaled_planes(image, region, longest=LONGEST_SIDE, shortest=SHORTEST_SIDE)
        _, found, _ = _keypoints(grey_of(planes), inside, self._points)
        return relative_positions(found.positions, inside)


def sift(grey: Doubles, inside: npt.NDArray[np.bool_], points: int) -> npt.NDArray[np.uint8]:
    """(p, 128), p <= points: descriptors at interest points and then on the grid, of (h, w) in 0..1."""
    detector, found, flat = _keypoints(grey, inside, points)
    usable = np.flatnonzero(~flat)
    descriptors = np.zeros((len(found.sigmas), PACKING.values), dtype=np.uint8)
    if len(usable):
        described = found.only(usable)
        detector.positions, detector.scales = described.positions, described.scales
        detector.sigmas, detector.orientations = described.sigmas, described.orientations
        detector.octaves = described.octaves
        detector.extract(grey)
        descriptors[usable] = detector.descriptors
    return descriptors


def _keypoints(
    grey: Doubles, inside: npt.NDArray[np.bool_], points: int
) -> tuple[Any, _Keypoints, npt.NDArray[np.bool_]]:
    """The detector, the places to describe, and (p,) which of them lie where the image is flat."""
    from skimage.feature import SIFT

    detector: Any = SIFT(upsampling=1)  # type: ignore[no-untyped-call]
    try:
        detector.detect(grey)
    except RuntimeError:
        # scikit-image raises this if an image has no interest point.
        found = _Keypoints.none()
    else:
        found = _Keypoints(
            detector.positions, detector.scales, detector.sigmas, detector.orientations, detector.octaves
        )
    corners = np.rint(found.positions).astype(np.intp)
    found = found.only(np.flatnonzero(inside[corners[:, 0], corners[:, 1]]))
    found = found.only(_spread(found.sigmas, points // 2))
    at = grid_points(inside, (points - len(found.sigmas)) // len(DENSE_SCALES))
    flat = [np.zeros(len(found.sigmas), dtype=np.bool_)]
    for sigma in DENSE_SCALES:
        found = found.joined(_Keypoints.upright(at, sigma, detector.scalespace_sigmas))
        flat.append(_flat(grey, at, sigma))
    return detector, found, np.concatenate(flat)


class _Keypoints:
    """Places as scikit-image's SIFT keeps them: (p, 2) positions, and (p,) of each of the others."""

    def __init__(
        self,
        positions: Doubles,
        scales: npt.NDArray[np.intp],
        sigmas: Doubles,
        orientations: Doubles,
        octaves: npt.NDArray[np.intp],
    ) -> None:
        self.positions, self.scales, self.sigmas = positions, scales, sigmas
        self.orientations, self.octaves = orientations, octaves

    @staticmethod
    def none() -> _Keypoints:
        nothing = np.empty(0)
        whole = np.empty(0, dtype=np.intp)
        return _Keypoints(np.empty((0, 2)), whole, nothing, nothing, whole)

    @staticmethod
    def upright(at: npt.NDArray[np.intp], sigma: float, known: Doubles) -> _Keypoints:
        """At ``at``, of the scale nearest to ``sigma`` among those ``known`` (octaves, scales)."""
        # The first and the last two are there for the detector only.
        inner = known[:, 1:-2]
        octave, scale = np.unravel_index(np.abs(inner - sigma).argmin(), inner.shape)
        n = len(at)
        return _Keypoints(
            at.astype(np.float64),
            np.full(n, scale + 1, dtype=np.intp),
            np.full(n, inner[octave, scale]),
            np.full(n, LEAN),
            np.full(n, octave, dtype=np.intp),
        )

    def only(self, rows: npt.NDArray[np.intp]) -> _Keypoints:
        return _Keypoints(
            self.positions[rows],
            self.scales[rows],
            self.sigmas[rows],
            self.orientations[rows],
            self.octaves[rows],
        )

    def joined(self, other: _Keypoints) -> _Keypoints:
        return _Keypoints(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.scales, other.scales]),
            np.concatenate([self.sigmas, other.sigmas]),
            np.concatenate([self.orientations, other.orientations]),
            np.concatenate([self.octaves, other.octaves]),
        )


def _spread(sigmas: Doubles, count: int) -> npt.NDArray[np.intp]:
    """(p,) ascending places, p <= count, that hold evenly many of every scale."""
    if len(sigmas) <= count:
        return np.arange(len(sigmas))
    by_scale = np.argsort(sigmas, kind="stable")
    return np.sort(by_scale[np.arange(count) * len(sigmas) // count])


def _flat(grey: Doubles, at: npt.NDArray[np.intp], sigma: float) -> npt.NDArray[np.bool_]:
    """(p,) at which places ``at`` the image, blurred by ``sigma``, is flat over the whole descriptor."""
    from scipy import ndimage

    down, right = np.gradient(ndimage.gaussian_filter(grey, sigma))
    changes = np.zeros((grey.shape[0] + 1, grey.shape[1] + 1), dtype=np.int64)
    changes[1:, 1:] = (np.hypot(down, right) > FLAT).cumsum(axis=0).cumsum(axis=1)
    reach = int(6 * sigma)
    top, left = np.maximum(at - reach, 0).T
    bottom, right_end = np.minimum(at + reach, np.array(grey.shape) - 1).T
    count = changes[bottom, right_end] - changes[top, right_end] - changes[bottom, left] + changes[top, left]
    flat: npt.NDArray[np.bool_] = count == 0
    return flat
