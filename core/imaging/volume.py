"""Volumes: the slices of a CT series, a multi-frame object or a 3-D array.

A :class:`Stack` reads slices on demand; a :class:`Volume` has all voxels in memory.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.region import Region, shown_slice
from semblance.core.imaging.slice_plane import StackLocation
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_ARRAY_BYTES, size_text

Spacing = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Volume:
    """Voxels (depth, height, width) of stored numbers, first slice first; with a last axis of three, colours.

    ``spacing_mm``: from slice to slice, row to row, column to column (``None``: unknown).
    ``values``: their meaning. ``origin``: (z, y, x) of the first voxel in the stack it was cut from.
    ``white``, ``black``: as in :class:`Image`.
    """

    voxels: npt.NDArray[Any]
    values: ValueScale = field(default_factory=ValueScale)
    spacing_mm: Spacing | None = None
    name: str = ""
    origin: tuple[int, int, int] = (0, 0, 0)
    white: float = 255.0
    black: float = 0.0

    def physical_values(self) -> npt.NDArray[np.float32]:
        """(depth, height, width) float32: the physical values of the stored ones."""
        out: npt.NDArray[np.float32] = self.voxels.astype(np.float32)
        out *= np.float32(self.values.slope)
        out += np.float32(self.values.intercept)
        return out

    def image(self, index: int) -> Image:
        """Slice ``index``."""
        in_plane = None if self.spacing_mm is None else self.spacing_mm[1:]
        return Image(
            self.voxels[index], self.white, self.name, in_plane, black=self.black, values=self.values
        )


class Stack(abc.ABC):
    """A volume whose slices are decoded on demand. Close it, or use it in a ``with`` statement.

    Attributes:
        name: what to call it in messages.
        shape: (depth, height, width).
        spacing_mm: from slice to slice, row to row, column to column; ``None`` where unknown.
        directions: towards what the slices, rows and columns run, one of "L", "R", "A", "P", "S", "I" each;
            ``None`` where the orientation is unknown.
        location: where it lies; ``None`` where unknown.
    """

    name: str = ""
    shape: tuple[int, int, int]
    spacing_mm: Spacing | None = None
    directions: tuple[str, str, str] | None = None
    location: StackLocation | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @abc.abstractmethod
    def image(self, index: int) -> Image:
        """Slice ``index``, from 0.

        Raises:
            BadInput: its file is gone or damaged.
        """

    def positions(self) -> npt.NDArray[np.float64] | None:
        """(n, 3) where each slice lies: mm along the normal of the first, and pixels down and right of it; ``None``
        where that is unknown. All headers are read.

        Raises:
            BadInput: a file is gone or damaged.
        """
        return None

    def close(self) -> None:  # noqa: B027 - a stack in memory has no files
        """Close its files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def middle(self, region: Region | None = None) -> int:
        """The slice to show first: the middle of ``region``, else of the stack."""
        return shown_slice(len(self), region)

    def volume(
        self, box: Region | None = None, on_slice_read: Callable[[int], object] | None = None
    ) -> Volume:
        """The voxels inside ``box`` (its slices and rectangle, clipped; ``None``: all of them).

        ``on_slice_read(n)`` is called after every slice with the number of slices read so far.

        Raises:
            BadInput: nothing of the box lies inside, it is too large for memory, or a slice cannot be read.
        """
        depth, height, width = self.shape
        first, last = 0, depth
        left, top, right, bottom = 0, 0, width, height
        if box is not None:
            part = box.clipped(height, width)
            left, top, right, bottom = part.x, part.y, part.x + part.width, part.y + part.height
            if part.z is not None:
                first, last = max(0, part.z), min(depth, part.z + part.depth)
        if last <= first:
            raise BadInput(
                tr_lazy(
                    "The region lies outside the {depth} slices of '{name}'.", depth=depth, name=self.name
                ),
                "Choose a slice within them.",
            )
        head = self.image(first)
        size = (last - first) * (bottom - top) * (right - left) * head.pixels.dtype.itemsize
        if size > MAX_ARRAY_BYTES:
            raise BadInput(
                tr_lazy("'{name}' would take {size} of memory.", name=self.name, size=size_text(size)),
                "Choose a region of it instead.",
            )
        out = np.empty((last - first, bottom - top, right - left), head.pixels.dtype)
        values, black, white = head.values, head.black, head.white
        for index in range(first, last):
            one = head if index == first else self.image(index)
            if one.is_colour:
                raise BadInput(
                    tr_lazy("'{name}' is in colour, and a volume is grey.", name=self.name),
                    "Use single images of it.",
                )
            clipped = one.pixels[top:bottom, left:right]
            if (one.values.slope, one.values.intercept) != (values.slope, values.intercept):
                # In PET every slice has its own scale: values are converted to the first slice's scale.
                out = out.astype(np.float32, copy=False)
                clipped = (one.physical_values()[top:bottom, left:right] - values.intercept) / values.slope
            out[index - first] = clipped
            if on_slice_read is not None:
                on_slice_read(index - first + 1)
        return Volume(out, values, self.spacing_mm, self.name, (first, top, left), white, black)


def checked_slice(stack: Stack, index: int) -> int:
    """
    Raises:
        BadInput: ``stack`` has no slice ``index``.
    """
    if not 0 <= index < len(stack):
        raise BadInput(
            tr_lazy(
                "'{stack}' has no slice {place}: it has {n}.", stack=stack.name, place=index, n=len(stack)
            ),
            "Choose another.",
        )
    return index


class ArrayStack(Stack):
    """A volume already in memory."""

    def __init__(self, volume: Volume) -> None:
        depth, height, width = volume.voxels.shape[:3]
        self.shape = (depth, height, width)
        self.name, self.spacing_mm = volume.name, volume.spacing_mm
        self._volume = volume

    def image(self, index: int) -> Image:
        """Slice ``index`` of the voxels in memory."""
        return self._volume.image(index)
