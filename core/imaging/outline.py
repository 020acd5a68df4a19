"""Shapes of a region inside its rectangle: ellipse, polygon, and any set of pixels."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

#: Corners of a polygon, and runs of a mask, at most; stored outlines with more are treated as damaged.
MAX_POINTS = 100_000
MAX_RUNS = 4_000_000


class Outline(abc.ABC):
    """The shape of a region within its rectangle."""

    @abc.abstractmethod
    def mask(self, height: int, width: int) -> npt.NDArray[np.bool_]:
        """(height, width) the pixels whose middle is inside; of several slices those of any."""

    @abc.abstractmethod
    def shifted(self, right: int, down: int, width: int, height: int) -> Outline:
        """The same shape in a rectangle of ``width`` x ``height``, ``right`` pixels farther right and ``down``
        farther down."""

    @abc.abstractmethod
    def resized(self, wide: float, high: float, width: int, height: int) -> Outline:
        """Stretched by the factors ``wide`` and ``high`` with its rectangle, now ``width`` x ``height``."""

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """``{"kind": ..., ...}``, the inverse of :func:`outline_from_json`."""


@dataclass(frozen=True)
class Ellipse(Outline):
    """The ellipse with ``centre`` (x, y) and half axes ``radii`` (x, y), in pixels from the corner."""

    centre: tuple[float, float]
    radii: tuple[float, float]

    @staticmethod
    def filling(width: float, height: float) -> Ellipse:
        """The ellipse that touches all four sides."""
        return Ellipse((width / 2, height / 2), (width / 2, height / 2))

    def mask(self, height: int, width: int) -> npt.NDArray[np.bool_]:
        """(height, width) the pixels inside; see :meth:`Outline.mask`."""
        y = (np.arange(height)[:, None] + 0.5 - self.centre[1]) / max(self.radii[1], 1e-9)
        x = (np.arange(width)[None, :] + 0.5 - self.centre[0]) / max(self.radii[0], 1e-9)
        inside: npt.NDArray[np.bool_] = x * x + y * y <= 1.0
        return inside

    def shifted(self, right: int, down: int, width: int, height: int) -> Ellipse:
        """The same shape in another rectangle; see :meth:`Outline.shifted`."""
        return Ellipse((self.centre[0] + right, self.centre[1] + down), self.radii)

    def resized(self, wide: float, high: float, width: int, height: int) -> Ellipse:
        """The stretched shape; see :meth:`Outline.resized`."""
        x, y = self.centre
        return Ellipse((x * wide, y * high), (self.radii[0] * wide, self.radii[1] * high))

    def to_json(self) -> dict[str, Any]:
        """The shape as plain JSON; see :meth:`Outline.to_json`."""
        return {"kind": "ellipse", "centre": list(self.centre), "radii": list(self.radii)}


@dataclass(frozen=True)
class Polygon(Outline):
    """The polygon with corners ``points`` ((x, y), ...), in pixels from the rectangle's corner, closed."""

    points: tuple[tuple[float, float], ...]

    def mask(self, height: int, width: int) -> npt.NDArray[np.bool_]:
        """By even-odd rule, row by row, at the middles of the pixels."""
        corners = np.array(self.points, dtype=np.float64).reshape(-1, 2)
        out = np.zeros((height, width), dtype=np.bool_)
        x0, y0 = corners[:, 0], corners[:, 1]
        x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
        middles = np.arange(width) + 0.5
        for row in range(height):
            y = row + 0.5
            crossing = (y0 <= y) != (y1 <= y)
            at = x0[crossing] + (y - y0[crossing]) * (x1 - x0)[crossing] / (y1 - y0)[crossing]
            out[row] = np.searchsorted(np.sort(at), middles, side="right") % 2 == 1
        return out

    def shifted(self, right: int, down: int, width: int, height: int) -> Polygon:
        """The same shape in another rectangle; see :meth:`Outline.shifted`."""
        return Polygon(tuple((x + right, y + down) for x, y in self.points))

    def resized(self, wide: float, high: float, width: int, height: int) -> Polygon:
        """The stretched shape; see :meth:`Outline.resized`."""
        return Polygon(tuple((x * wide, y * high) for x, y in self.points))

    def to_json(self) -> dict[str, Any]:
        """The shape as plain JSON; see :meth:`Outline.to_json`."""
        return {"kind": "polygon", "points": [list(point) for point in self.points]}


@dataclass(frozen=True)
class MaskOutline(Outline):
    """Any pixels (or voxels): lengths of the alternating runs outside and inside, along rows, then down, then
    through the slices, of a block of ``shape`` (depth, height, width)."""

    shape: tuple[int, int, int]
    runs: tuple[int, ...]

    @staticmethod
    def of(mask: npt.NDArray[np.bool_]) -> MaskOutline:
        """The outline of a mask (h, w) or (depth, h, w)."""
        block = mask[None] if mask.ndim == 2 else mask
        flat = np.concatenate([[False], block.ravel(), [not block.ravel()[-1]]])
        changes = np.flatnonzero(flat[1:] != flat[:-1])
        depth, height, width = block.shape
        runs = np.diff(np.concatenate([[0], changes])).tolist()
        return MaskOutline((depth, height, width), tuple(runs))

    def voxels(self) -> npt.NDArray[np.bool_]:
        """(depth, height, width)"""
        lengths = np.array(self.runs, dtype=np.int64)
        inside = np.arange(len(lengths)) % 2 == 1
        voxels: npt.NDArray[np.bool_] = np.repeat(inside, lengths).reshape(self.shape)
        return voxels

    def mask(self, height: int, width: int) -> npt.NDArray[np.bool_]:
        """(height, width) the pixels inside; see :meth:`Outline.mask`."""
        out = np.zeros((height, width), dtype=np.bool_)
        any_slice: npt.NDArray[np.bool_] = np.logical_or.reduce(self.voxels(), axis=0)[:height, :width]
        out[: any_slice.shape[0], : any_slice.shape[1]] = any_slice
        return out

    def shifted(self, right: int, down: int, width: int, height: int) -> MaskOutline:
        """The same shape in another rectangle; see :meth:`Outline.shifted`."""
        depth, rows, columns = self.shape
        out = np.zeros((depth, height, width), dtype=np.bool_)
        top, left = max(0, down), max(0, right)
        bottom, end = min(height, down + rows), min(width, right + columns)
        if bottom > top and end > left:
            inside = self.voxels()[:, top - down : bottom - down, left - right : end - right]
            out[:, top:bottom, left:end] = inside
        return MaskOutline.of(out)

    def resized(self, wide: float, high: float, width: int, height: int) -> MaskOutline:
        """The stretched shape; see :meth:`Outline.resized`."""
        rows = np.minimum((np.arange(height) + 0.5) / high, self.shape[1] - 1).astype(np.intp)
        columns = np.minimum((np.arange(width) + 0.5) / wide, self.shape[2] - 1).astype(np.intp)
        return MaskOutline.of(self.voxels()[:, rows[:, None], columns[None, :]])

    def to_json(self) -> dict[str, Any]:
        """The shape as plain JSON; see :meth:`Outline.to_json`."""
        return {"kind": "mask", "shape": list(self.shape), "runs": list(self.runs)}


def outline_from_json(data: dict[str, Any]) -> Outline | None:
    """The outline of a stored region; ``None`` for a plain rectangle.

    Raises:
        BadInput: damaged or of an unknown kind.
    """
    kind = data.get("kind", "rectangle")
    try:
        if kind == "rectangle":
            return None
        if kind == "ellipse":
            return Ellipse(_pair(data["centre"]), _pair(data["radii"]))
        if kind == "polygon" and 3 <= len(data["points"]) <= MAX_POINTS:
            return Polygon(tuple(_pair(point) for point in data["points"]))
        if kind == "mask" and len(data["runs"]) <= MAX_RUNS:
            depth, height, width = (int(side) for side in data["shape"])
            runs = tuple(int(run) for run in data["runs"])
            if min(depth, height, width, *runs, 0) >= 0 and sum(runs) == depth * height * width:
                return MaskOutline((depth, height, width), runs)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise BadInput(
        tr_lazy("A stored region of kind '{kind}' is damaged.", kind=kind),
        "Draw it again, or import the case again.",
    )


def _pair(values: Any) -> tuple[float, float]:
    x, y = (float(value) for value in values)
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError
    return x, y
