"""Measurements on one image: lengths and angles in mm, and statistics of the values inside a shape.

Values are those of the file after its modality LUT or rescale, never greys of a window. A pixel belongs to a shape if
its middle lies inside; padding and what is no number are left out. The area is that of the counted pixels. The standard
deviation is that of the population (divided by n). Sums of blocks are combined as in Chan, Golub and LeVeque:
Algorithms for computing the sample variance. The American Statistician 37 (1983) 242-247, equation 2.1.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.image import LUMA, Calibration, Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.imaging.slab import Slab, SlabMode

#: What is drawn to measure. A line has two points, an angle three (the middle one is the vertex) or four (two lines, of
#: which the smaller angle is meant), a probe one; the others are regions.
LINE, ANGLE, PROBE = "line", "angle", "probe"
RECTANGLE, ELLIPSE, OUTLINE = "rectangle", "ellipse", "outline"
KINDS = (LINE, ANGLE, RECTANGLE, ELLIPSE, OUTLINE, PROBE)
_POINTS = {LINE: (2,), ANGLE: (3, 4), PROBE: (1,)}

#: Rows of a shape that are summed at a time.
_BLOCK_ROWS = 256

Point = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """What a person drew on an image to measure it. ``points``: (x, y) in pixels of the image as stored, from its upper
    left corner; or a ``region``. ``slice``: of a volume, from 0. ``plane``: the axis (1, 2) and the number of a plane
    across the slices on which it is drawn in place of a slice; ``slab``: it is the middle of one. A slab of slices
    has the axis 0."""

    kind: str
    points: tuple[Point, ...] = ()
    region: Region | None = None
    slice: int | None = None
    plane: tuple[int, int] | None = None
    slab: Slab | None = None

    @staticmethod
    def of_region(region: Region) -> Figure:
        """The shape of ``region``, on no certain slice."""
        kind = {type(None): RECTANGLE, Ellipse: ELLIPSE}.get(type(region.outline), OUTLINE)
        return Figure(kind, region=replace(region, z=None, depth=1))

    def placed(
        self, slice: int | None, plane: tuple[int, int] | None = None, slab: Slab | None = None
    ) -> Figure:
        """The same figure on a slice, or on a plane or slab; ``None``: on an image that is no volume."""
        return replace(self, slice=slice if plane is None else None, plane=plane, slab=slab)

    @property
    def corners(self) -> tuple[Point, ...]:
        """The points, or two corners of the rectangle around the region."""
        if self.region is None:
            return self.points
        left, top, right, bottom = self.region.box
        return (left, top), (right, bottom)

    def to_json(self) -> dict[str, Any]:
        """The figure without its kind and slice, the inverse of :meth:`from_json`."""
        drawn: dict[str, Any] = (
            {"points": [list(point) for point in self.points]}
            if self.region is None
            else {"region": self.region.to_json()}
        )
        if self.plane is not None:
            drawn["plane"] = list(self.plane)
        if self.slab is not None:
            drawn["slab"] = [self.slab.mode.value, self.slab.thickness_mm]
        return drawn

    @staticmethod
    def from_json(kind: str, data: dict[str, Any], slice: int | None = None) -> Figure:
        """Raises:
        BadInput: damaged, or of a kind that is not measured.
        """
        try:
            plane, slab = data.get("plane"), data.get("slab")
            found = Figure(
                kind,
                tuple((float(x), float(y)) for x, y in data.get("points", ())),
                Region.from_json(data["region"]) if "region" in data else None,
                slice,
                None if plane is None else (int(plane[0]), int(plane[1])),
                None if slab is None else Slab(SlabMode(slab[0]), float(slab[1])),
            )
            counts = _POINTS.get(kind, (0,))
            is_whole = all(math.isfinite(one) for point in found.points for one in point)
            is_kind = kind in KINDS and (found.region is None) == (kind in _POINTS)
            if is_kind and is_whole and len(found.points) in counts:
                return found
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            pass
        raise BadInput("A stored measurement is damaged.", "Draw it again.")


def figures_to_json(figures: Iterable[Figure]) -> tuple[dict[str, Any], ...]:
    """Figures with their kinds and slices."""
    return tuple({"kind": one.kind, "slice": one.slice, **one.to_json()} for one in figures)


def figures_from_json(stored: Iterable[Mapping[str, Any]]) -> tuple[Figure, ...]:
    """The inverse of :func:`figures_to_json`, without those that are damaged."""
    found = []
    for one in stored:
        with contextlib.suppress(BadInput):
            data, number = dict(one), one.get("slice")
            found.append(
                Figure.from_json(str(data.get("kind")), data, None if number is None else int(number))
            )
    return tuple(found)


@dataclass(frozen=True)
class Statistics:
    """The values of ``n`` pixels; ``sd`` divides by ``n``."""

    n: int
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class Measured:
    """The results of one figure; ``None`` where it has no such result.

    ``length``, ``perimeter``: in mm, or in px without a ``calibration`` in mm. ``angle``: degrees. ``area``: mm2 or
    px2. ``statistics``: of the values in ``unit``. ``is_luminance``: of a colour image, from 0 to white.
    """

    length: float | None = None
    angle: float | None = None
    area: float | None = None
    value: float | None = None
    statistics: Statistics | None = None
    calibration: Calibration | None = None
    unit: str = ""
    is_luminance: bool = False

    @property
    def is_mm(self) -> bool:
        """Whether lengths are in mm, and areas in mm2."""
        return self.calibration is not None and self.calibration.is_mm


def calibration_at(calibrations: Sequence[Calibration], corners: Sequence[Point]) -> Calibration | None:
    """The calibration of the smallest part of the image that holds all of ``corners``; ``None`` where none does, or
    where that part has none in space, such as the curve under an ultrasound image."""
    holding = [
        one
        for one in calibrations
        if one.box is None
        or all(one.box[0] <= x <= one.box[2] and one.box[1] <= y <= one.box[3] for x, y in corners)
    ]
    if not holding:
        return None
    found = min(holding, key=lambda one: math.inf if one.box is None else _size(one.box))
    return found if found.row > 0 else None


def _size(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def length_of(begin: Point, end: Point, calibration: Calibration | None) -> float:
    """The distance in mm, or in px without a calibration in mm."""
    row, column = (1.0, 1.0) if calibration is None or not calibration.is_mm else calibration.spacing
    return math.hypot((end[0] - begin[0]) * column, (end[1] - begin[1]) * row)


def angle_of(points: Sequence[Point], calibration: Calibration | None) -> float:
    """Degrees, on pixels as wide and high as ``calibration`` says: at the middle of three points 0 to 180; between the
    lines of four points 0 to 90. A side without length gives 0."""
    row, column = (1.0, 1.0) if calibration is None else calibration.spacing
    placed = [(x * column, y * row) for x, y in points]
    if len(placed) == 3:
        one, other = _way(placed[1], placed[0]), _way(placed[1], placed[2])
    else:
        one, other = _way(placed[0], placed[1]), _way(placed[2], placed[3])
    across = abs(one[0] * other[1] - one[1] * other[0])
    along = one[0] * other[0] + one[1] * other[1]
    # Exact near 0 and 180, where the arc cosine is not.
    return math.degrees(math.atan2(across, along if len(placed) == 3 else abs(along)))


def _way(begin: Point, end: Point) -> Point:
    return end[0] - begin[0], end[1] - begin[1]


def statistics_of(image: Image, region: Region) -> Statistics | None:
    """Of the values inside ``region``, luminance of a colour image; ``None`` where all of it is padding.

    Raises:
        BadInput: nothing of the region lies inside the image.
    """
    part = region.clipped(image.height, image.width)
    mask = None if part.outline is None else part.outline.mask(part.height, part.width)
    n, mean, squares, low, high = 0, 0.0, 0.0, math.inf, -math.inf
    for top in range(0, part.height, _BLOCK_ROWS):
        rows = slice(part.y + top, min(part.y + top + _BLOCK_ROWS, part.y + part.height))
        block = image.pixels[rows, part.x : part.x + part.width]
        values = _kept(image, block, None if mask is None else mask[top : top + len(block)])
        if not len(values):
            continue
        block_mean = float(values.mean(dtype=np.float64))
        low, high = min(low, float(values.min())), max(high, float(values.max()))
        # Single precision would leave eight digits.
        deviations = np.subtract(values, block_mean, dtype=np.float64)
        block_squares = float(np.dot(deviations, deviations))
        total, apart = n + len(values), block_mean - mean
        mean += apart * len(values) / total
        squares += block_squares + apart * apart * n * len(values) / total
        n = total
    if not n:
        return None
    slope, intercept = _rescale(image)
    ends = sorted((low * slope + intercept, high * slope + intercept))
    sd = math.sqrt(max(squares, 0.0) / n) * abs(slope)
    return Statistics(n, mean * slope + intercept, sd, ends[0], ends[1])


def _rescale(image: Image) -> tuple[float, float]:
    return (1.0, 0.0) if image.is_colour else (image.values.slope, image.values.intercept)


def _kept(image: Image, block: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None) -> npt.NDArray[Any]:
    """(n,) the stored numbers of ``block`` that count, of colours their luminance."""
    values = block.reshape(-1, *block.shape[2:]) if mask is None else block[mask]
    if image.is_colour:
        luminance: npt.NDArray[np.float64] = values @ np.round(LUMA.astype(np.float64), 4)
        return luminance
    if image.values.padding is not None:
        first, last = image.values.padding
        values = values[(values < first) | (values > last)]
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    return values


def measure(image: Image, figure: Figure) -> Measured:
    """The results of ``figure`` on ``image``.

    Raises:
        BadInput: it lies outside the image.
    """
    return with_values(outlined(figure, calibrations_of(image)), image, figure)


def calibrations_of(image: Image) -> tuple[Calibration, ...]:
    """What a pixel of ``image`` measures, each for a part of it: as its file says, else from its spacing."""
    if image.calibrations or image.spacing_mm is None:
        return image.calibrations
    return (Calibration(*image.spacing_mm),)


def outlined(figure: Figure, calibrations: Sequence[Calibration]) -> Measured:
    """What needs no pixels: length and angle; neither of an angle of one side."""
    found = calibration_at(calibrations, figure.corners)
    if figure.kind == LINE:
        return Measured(length=length_of(figure.points[0], figure.points[1], found), calibration=found)
    # While its first side is drawn, an angle has two points.
    if figure.kind == ANGLE and len(figure.points) > 2:
        return Measured(angle=angle_of(figure.points, found), calibration=found)
    return Measured(calibration=found)


def with_values(measured: Measured, image: Image, figure: Figure) -> Measured:
    """``measured`` with what the pixels of ``image`` say: the value of a probe, statistics and area of a region.

    Raises:
        BadInput: it lies outside the image.
    """
    unit = "" if image.is_colour else image.values.unit
    measured = replace(measured, unit=unit, is_luminance=image.is_colour)
    if figure.kind == PROBE:
        x, y = (math.floor(one) for one in figure.points[0])
        found = statistics_of(image, Region(x, y, 1, 1))
        return replace(measured, value=None if found is None else found.mean)
    if figure.region is None:
        return measured
    statistics = statistics_of(image, figure.region)
    known = measured.calibration
    row, column = (1.0, 1.0) if known is None or not known.is_mm else known.spacing
    area = 0.0 if statistics is None else statistics.n * row * column
    return replace(measured, statistics=statistics, area=area)
