"""What extractors of local descriptors share."""

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
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.parameters import Value

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

#: Between two places tried for a grid, its spacing grows by so much.
_WIDER = 1.01
#: Grey levels numbers are rounded to: at least those of 16 bits, so that an image's depth does not matter.
_LEVELS = np.float32(65535)


def scaled_planes(
    image: Image, region: Region | None, *, longest: int, shortest: int = 1
) -> tuple[Floats, Mask]:
    """(c, h, w) one grey plane or red, green and blue in 0..1, and (h, w) which pixels are meant.

    A longer side than ``longest`` is reduced to it, the other in proportion; none stays below ``shortest``.

    Raises:
        BadInput: the region lies outside, or the pixels hold NaN or infinite values.
    """
    part = image.cropped(region)
    planes = part.rgb().transpose(2, 0, 1) if part.is_colour else part.grey()[None]
    planes = np.clip(finite(planes, image), 0.0, 1.0)
    planes = np.rint(planes * _LEVELS) / _LEVELS
    inside = np.ones((part.height, part.width), dtype=np.bool_)
    if region is not None:
        box = region.clipped(image.height, image.width)
        inside = box.mask(image.height, image.width)[box.y : box.y + box.height, box.x : box.x + box.width]
    shrink = min(1.0, longest / max(part.height, part.width))
    height, width = (max(shortest, round(side * shrink)) for side in (part.height, part.width))
    if (height, width) != (part.height, part.width):
        planes = np.stack([resampled(np.ascontiguousarray(plane), height, width) for plane in planes])
        rows = (2 * np.arange(height) + 1) * part.height // (2 * height)
        columns = (2 * np.arange(width) + 1) * part.width // (2 * width)
        inside = inside[rows[:, None], columns]
    return np.ascontiguousarray(planes, dtype=np.float32), inside


def grey_of(planes: Floats) -> npt.NDArray[np.float64]:
    """(h, w) of planes as :func:`scaled_planes` gives them."""
    grey: npt.NDArray[np.float64] = (
        planes[0].astype(np.float64) if len(planes) == 1 else np.tensordot(LUMA.astype(np.float64), planes, 1)
    )
    return grey


def grid_points(inside: Mask, count: int) -> npt.NDArray[np.intp]:
    """(p, 2) rows and columns, p <= count, of a square grid as fine as ``count`` allows, where ``inside``.

    Without a pixel inside (an outline thinner than the grid it was reduced to) the middle is taken.
    """
    area = int(inside.sum())
    height, width = inside.shape
    if area == 0:
        return np.array([[height // 2, width // 2]], dtype=np.intp)
    spacing = max(1.0, math.sqrt(area / count))
    while True:
        rows, columns = _ticks(height, spacing), _ticks(width, spacing)
        at = np.argwhere(inside[rows[:, None], columns[None, :]])
        if len(at) == 0:
            places = np.argwhere(inside)
            return places[:: -(-len(places) // count)]
        if len(at) <= count:
            return np.stack([rows[at[:, 0]], columns[at[:, 1]]], axis=1)
        spacing *= _WIDER


def relative_positions(
    at: npt.NDArray[np.integer] | npt.NDArray[np.floating], inside: Mask
) -> npt.NDArray[np.float64]:
    """(p, 2) rows and columns of the middles of pixels -> x and y as shares of the width and height."""
    height, width = inside.shape
    return np.asarray((at[:, ::-1] + 0.5) / (width, height), dtype=np.float64)


def _ticks(side: int, spacing: float) -> npt.NDArray[np.intp]:
    """Evenly spaced whole positions on 0..side-1, as far from one end as from the other."""
    ticks = max(1, int(side / spacing))
    return ((np.arange(ticks) + 0.5) * side / ticks).astype(np.intp)


class LocalExtractor(Extractor):
    """Packed descriptors of the places of an image, at most the setting ``points`` of them."""

    local: ClassVar[DescriptorPacking]
    #: The group of the feature names.
    group: ClassVar[str]

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        points = self.settings["points"]
        assert isinstance(points, int)
        self._points = points

    @staticmethod
    def _column_name(point: int, first: int, last: int) -> str:
        """The name of the column with the values ``first`` to ``last``, from 1, of a point."""
        raise NotImplementedError

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names(type(self), self._points)


@functools.cache
def _names(extractor: type[LocalExtractor], points: int) -> tuple[FeatureName, ...]:
    packing = extractor.local
    values = range(0, packing.values, packing.values_per_column)
    return tuple(
        FeatureName(
            extractor._column_name(
                point, before + 1, min(before + packing.values_per_column, packing.values)
            ),
            extractor.group,
        )
        for point in range(1, points + 1)
        for before in values
    )
