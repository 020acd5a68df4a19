"""Where an image lies in the patient, and the line in which one image cuts another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

#: Cosines that differ less are the same direction.
SAME_DIRECTION = 1e-3
#: The sine of the angle below which two planes count as parallel (two degrees).
_PARALLEL = 0.035

Vector = tuple[float, float, float]
#: x and y in pixels of an image; the middle of the first one is (0.5, 0.5).
Point = tuple[float, float]


@dataclass(frozen=True)
class SlicePlane:
    """The position and orientation of a slice.

    ``position`` (3,) mm of its first pixel's middle; ``along_row`` and ``along_column`` (3,) unit vectors in
    which the column and the row index grow; ``spacing`` (row, column) mm or ``None``. ``frame_of_reference``: the UID
    of the coordinates, "" where the file does not say it. ``is_projection``: every pixel shows all that lies before
    and behind it, as in the scout of a CT.
    """

    position: Vector
    along_row: Vector
    along_column: Vector
    spacing: tuple[float, float] | None = None
    frame_of_reference: str = ""
    is_projection: bool = False

    @property
    def normal(self) -> npt.NDArray[np.float64]:
        """(3,) the direction in which slices follow each other."""
        (a, b, c), (d, e, f) = self.along_row, self.along_column
        return np.array((b * f - c * e, c * d - a * f, a * e - b * d))

    @property
    def height(self) -> float:
        """mm along the normal."""
        return float(self.normal @ self.position)

    def pixels_of(self, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(n, 3) of (x, y, mm above the plane) of points (n, 3) in mm; pixel (0, 0) has its middle at 0.5."""
        row, column = self.spacing or (1.0, 1.0)
        offset = points - np.array(self.position)
        x = offset @ np.array(self.along_row) / column + 0.5
        y = offset @ np.array(self.along_column) / row + 0.5
        return np.stack([x, y, offset @ self.normal], axis=1)

    def points_of(self, pixels: Sequence[Point]) -> npt.NDArray[np.float64]:
        """(n, 3) mm of the points (x, y) of the image; the inverse of :meth:`pixels_of`."""
        row, column = self.spacing or (1.0, 1.0)
        steps = (np.asarray(pixels, np.float64) - 0.5) * (column, row)
        found: npt.NDArray[np.float64] = steps @ np.array([self.along_row, self.along_column])
        found += np.array(self.position)
        return found

    def is_in_frame_of(self, other: SlicePlane | None) -> bool:
        """Whether coordinates here and in ``other`` are those of one patient who did not move, and pixels have a
        size."""
        return (
            other is not None
            and self.frame_of_reference != ""
            and self.frame_of_reference == other.frame_of_reference
            and self.spacing is not None
            and other.spacing is not None
        )

    @property
    def orientation(self) -> tuple[float, ...]:
        """The six cosines, rounded so that equal ones compare equal."""
        return tuple(round(part / SAME_DIRECTION) * SAME_DIRECTION + 0.0 for part in self.cosines)

    @property
    def cosines(self) -> tuple[float, ...]:
        """Direction cosines of a row, then of a column (Image Orientation (Patient), PS3.3 C.7.6.2.1.1)."""
        return (*self.along_row, *self.along_column)


@dataclass(frozen=True)
class StackLocation:
    """The position of a volume: the plane of its ``first`` slice, and the ``step`` in mm from each slice to the next,
    which is not along the normal where a gantry was tilted."""

    first: SlicePlane
    step: Vector

    def plane(self, place: int) -> SlicePlane:
        """That of slice ``place``, if the slices follow each other evenly."""
        x, y, z = (at + place * step for at, step in zip(self.first.position, self.step, strict=True))
        return replace(self.first, position=(x, y, z))

    @property
    def rise(self) -> float:
        """mm along the normal from slice to slice; below zero where slices follow each other against it."""
        return float(self.first.normal @ self.step)

    def height_of(self, place: float) -> float:
        """mm along the normal of slice ``place``."""
        return self.first.height + place * self.rise

    def place_at(self, height: float) -> float:
        """The slice at this height, between two of them a fraction; the inverse of :meth:`height_of`."""
        return (height - self.first.height) / self.rise

    def place_of(self, point: npt.NDArray[np.float64]) -> float:
        """The slice in which a point (3,) in mm lies."""
        return self.place_at(float(self.first.normal @ point))

    def shares_frame(self, other: StackLocation | None) -> bool:
        """Whether slices here and in ``other`` are parallel, in one patient who did not move."""
        if other is None or not self.first.frame_of_reference:
            return False
        cosines = zip(self.first.cosines, other.first.cosines, strict=True)
        is_parallel = all(abs(a - b) < SAME_DIRECTION for a, b in cosines)
        return is_parallel and self.first.frame_of_reference == other.first.frame_of_reference


def are_across(one: SlicePlane, other: SlicePlane) -> bool:
    """Whether two planes are not parallel."""
    return float(np.linalg.norm(np.cross(one.normal, other.normal))) > _PARALLEL


def cut_line(
    cut: SlicePlane, size: tuple[int, int], on: SlicePlane, on_size: tuple[int, int]
) -> tuple[Point, Point] | None:
    """The ends, in pixels of the image ``on``, of the line in which the image ``cut`` crosses it.

    ``size``, ``on_size``: height and width of each image in pixels. Where ``on`` is a projection, what lies before and
    behind it is on it too, so that the line has the extent of ``cut`` as it is seen along the normal of ``on``. Only
    what lies inside ``on`` is returned. ``None`` where the images are parallel or do not meet.
    """
    if not are_across(cut, on):
        return None
    height, width = size
    corners = cut.points_of([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)])
    seen = on.pixels_of(corners)
    if on.is_projection:
        ends = _seen_line(cut, corners, on)
    else:
        ends = []
        for begin, end in zip(seen, np.roll(seen, -1, axis=0), strict=True):
            if (begin[2] > 0) != (end[2] > 0):
                share = begin[2] / (begin[2] - end[2])
                ends.append(begin[:2] + share * (end[:2] - begin[:2]))
    return None if len(ends) != 2 else _inside(ends[0], ends[1], on_size)


def _seen_line(
    cut: SlicePlane, corners: npt.NDArray[np.float64], on: SlicePlane
) -> list[npt.NDArray[np.float64]]:
    """Both ends of the line in which the plane of ``cut`` meets that of ``on``, as far as the ``corners`` reach."""
    along = np.cross(cut.normal, on.normal)
    along = along / np.linalg.norm(along)
    conditions = np.array([cut.normal, on.normal, along])
    heights = (cut.height, on.height, 0.0)
    base = np.linalg.solve(conditions, np.array(heights))
    reach = corners @ along
    return list(on.pixels_of(np.array([base + reach.min() * along, base + reach.max() * along]))[:, :2])


def _inside(
    begin: npt.NDArray[np.float64], end: npt.NDArray[np.float64], size: tuple[int, int]
) -> tuple[Point, Point] | None:
    """The part of a line that lies inside an image of ``size`` (height, width)."""
    vector, first, last = end - begin, 0.0, 1.0
    for axis, limit in ((0, size[1]), (1, size[0])):
        if abs(vector[axis]) < 1e-9:
            if not 0 <= begin[axis] <= limit:
                return None
            continue
        ends = sorted(((0 - begin[axis]) / vector[axis], (limit - begin[axis]) / vector[axis]))
        first, last = max(first, ends[0]), min(last, ends[1])
    if first >= last:
        return None
    (ax, ay), (bx, by) = begin + first * vector, begin + last * vector
    return (float(ax), float(ay)), (float(bx), float(by))
