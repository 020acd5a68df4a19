"""A part of an image or volume, in pixels of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import MaskOutline, Outline, outline_from_json
from semblance.core.language import tr_lazy

#: Left, top, right and bottom of a rectangle.
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Region:
    """A rectangle: left ``x``, top ``y``, ``width`` and ``height`` in pixels (x right, y down).

    ``outline``: the shape within the rectangle (``None``: all of it).
    ``z``, ``depth``: in a volume the first slice and the number of slices (``None``: not on a certain slice).
    """

    x: int
    y: int
    width: int
    height: int
    outline: Outline | None = None
    z: int | None = None
    depth: int = 1

    @property
    def box(self) -> Box:
        """Left, top, right and bottom in pixels."""
        return self.x, self.y, self.x + self.width, self.y + self.height

    @property
    def middle_slice(self) -> int | None:
        """The slice to show; ``None`` without ``z``."""
        return None if self.z is None else self.z + self.depth // 2

    def on_slice(self, place: int) -> Region | None:
        """The part that lies on slice ``place``; ``None`` where none does. Without ``z`` it lies on all."""
        if self.z is None:
            return self
        if not self.z <= place < self.z + self.depth:
            return None
        outline = self.outline
        if isinstance(outline, MaskOutline) and self.depth > 1:
            voxels = outline.voxels()[place - self.z]
            if not voxels.any():
                return None
            outline = MaskOutline.of(voxels)
        return replace(self, outline=outline, z=place, depth=1)

    def clipped(self, height: int, width: int) -> Region:
        """The part inside an image of ``height`` x ``width`` pixels.

        Raises:
            BadInput: nothing of the region lies inside.
        """
        left, top = max(0, self.x), max(0, self.y)
        right, bottom = min(width, self.x + self.width), min(height, self.y + self.height)
        if right <= left or bottom <= top:
            raise BadInput(
                tr_lazy(
                    "The region {x},{y},{width},{height} lies outside the image of {width2} x "
                    "{height2} pixels.",
                    x=self.x,
                    y=self.y,
                    width=self.width,
                    height=self.height,
                    width2=width,
                    height2=height,
                ),
                "Draw a region that touches the image.",
            )
        if (left, top, right - left, bottom - top) == (self.x, self.y, self.width, self.height):
            return self
        outline = self.outline
        if outline is not None:
            outline = outline.shifted(self.x - left, self.y - top, right - left, bottom - top)
        return replace(self, x=left, y=top, width=right - left, height=bottom - top, outline=outline)

    def covers(self, height: int, width: int) -> bool:
        """Whether all of an image of ``height`` x ``width`` pixels lies inside, as of a slice that is meant whole."""
        left, top, right, bottom = self.box
        return self.outline is None and left <= 0 and top <= 0 and right >= width and bottom >= height

    def mask(self, height: int, width: int) -> npt.NDArray[np.bool_]:
        """(height, width) the pixels of the region in an image of that size.

        Raises:
            BadInput: nothing of the region lies inside.
        """
        part = self.clipped(height, width)
        out = np.zeros((height, width), dtype=np.bool_)
        inside = out[part.y : part.y + part.height, part.x : part.x + part.width]
        inside[...] = True if part.outline is None else part.outline.mask(part.height, part.width)
        return out

    def to_json(self) -> dict[str, Any]:
        """The region as plain JSON, the inverse of :meth:`from_json`."""
        shape: dict[str, Any] = {"kind": "rectangle"} if self.outline is None else self.outline.to_json()
        box: dict[str, Any] = {"x": self.x, "y": self.y, "width": self.width, "height": self.height}
        slices = {} if self.z is None else {"z": self.z, "depth": self.depth}
        return {**shape, **box, **slices}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Region:
        """Raises:
        BadInput: not a region as :meth:`to_json` writes it.
        """
        try:
            box = (int(data["x"]), int(data["y"]), int(data["width"]), int(data["height"]))
            z = None if data.get("z") is None else int(data["z"])
            depth = int(data.get("depth", 1))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise BadInput(
                "A stored region is damaged.", "Draw it again, or import the case again."
            ) from None
        return Region(*box, outline_from_json(data), z, depth)

    @staticmethod
    def parse(text: str) -> Region:
        """From ``x,y,w,h`` as typed on the command line.

        Raises:
            BadInput: not four whole numbers, or an empty rectangle.
        """
        try:
            x, y, width, height = (int(part) for part in text.split(","))
        except ValueError:
            raise BadInput(
                tr_lazy("The region '{value}' is not x,y,w,h in whole pixels.", value=text),
                "Write it like 20,30,128,96.",
            ) from None
        if width <= 0 or height <= 0:
            raise BadInput(
                tr_lazy("The region '{value}' is empty.", value=text), "Width and height must be above 0."
            )
        return Region(x, y, width, height)


def box_overlap(one: Box, other: Box) -> float:
    """Intersection by union of two rectangles (left, top, right, bottom), which have an area."""
    width = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    height = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = sum((right - left) * (bottom - top) for left, top, right, bottom in (one, other))
    return width * height / (areas - width * height)


def region_of_mask(mask: npt.NDArray[np.bool_], z: int | None = None) -> Region:
    """The region of the true pixels of (h, w), or of the true voxels of (depth, h, w) from slice ``z``.

    Raises:
        BadInput: no pixel is true.
    """
    stack = mask[None] if mask.ndim == 2 else mask
    if not stack.any():
        raise BadInput("The region is empty: no pixel belongs to it.", "Draw it again.")
    bounds = []
    for axis in range(3):
        places = np.flatnonzero(stack.any(axis=tuple(other for other in range(3) if other != axis)))
        bounds.append((int(places[0]), int(places[-1]) + 1))
    (front, back), (top, bottom), (left, right) = bounds
    inside = stack[front:back, top:bottom, left:right]
    first = None if z is None and mask.ndim == 2 else (z or 0) + front
    outline = MaskOutline.of(inside)
    return Region(left, top, right - left, bottom - top, outline, first, back - front)


def shown_slice(depth: int, region: Region | None = None) -> int:
    """Which of ``depth`` slices represents the volume: the middle of ``region``, else of all of them."""
    middle = None if region is None else region.middle_slice
    return depth // 2 if middle is None else min(max(middle, 0), depth - 1)
