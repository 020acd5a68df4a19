"""Three orthogonal planes of a volume: the directions of its axes, and cutting it across them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Image
from semblance.core.imaging.volume import Spacing, Volume

_OPPOSITE = {"L": "R", "R": "L", "A": "P", "P": "A", "S": "I", "I": "S"}
_NAMES = {"S": "Axial", "I": "Axial", "A": "Coronal", "P": "Coronal", "L": "Sagittal", "R": "Sagittal"}
#: The radiological convention: the letters of the sides below and at the right.
_DISPLAY_DIRECTIONS = {"Axial": ("P", "L"), "Coronal": ("I", "L"), "Sagittal": ("I", "P")}
_UNNAMED = ("Slice", "Row", "Column")

Voxel = tuple[int, int, int]
Edges = tuple[str, str, str, str]


@dataclass(frozen=True)
class CutPlane:
    """Planes across one axis of a volume (0 slices, 1 rows, 2 columns of it).

    ``down`` and ``right`` are the axes in these directions of the image, ``from_last`` whether each is reversed.
    ``edges``: the patient's sides at left, top, right and bottom, where known. ``counts_from_last``: whether planes are
    numbered from the last one, so that coronal ones count from the front and sagittal ones from the patient's right.
    """

    name: str
    across: int
    down: int
    right: int
    from_last: tuple[bool, bool] = (False, False)
    edges: Edges | None = None
    counts_from_last: bool = False

    def cut(self, voxels: npt.NDArray[Any], place: int) -> npt.NDArray[Any]:
        """(h, w) the voxels of plane ``place``, a view of ``voxels`` (depth, height, width)."""
        found = np.moveaxis(voxels, self.across, 0)[place]
        if self.down > self.right:
            found = found.T
        out: npt.NDArray[Any] = found[:: -1 if self.from_last[0] else 1, :: -1 if self.from_last[1] else 1]
        return out

    def image(self, volume: Volume, place: int) -> Image:
        """Plane ``place`` of ``volume`` as an image with its own spacing."""
        spacing = self.spacing(volume.spacing_mm)
        return Image(
            self.cut(volume.voxels, place),
            volume.white,
            volume.name,
            spacing,
            black=volume.black,
            values=volume.values,
        )

    def spacing(self, whole: Spacing | None) -> tuple[float, float] | None:
        """From row to row and column to column of the image, in mm."""
        return None if whole is None else (whole[self.down], whole[self.right])

    def voxel(self, x: float, y: float, place: int, shape: tuple[int, int, int]) -> Voxel:
        """The voxel of a volume of ``shape`` at the point (x, y) of plane ``place``; inside it."""
        found = [0, 0, 0]
        found[self.across] = place
        for axis, at, last in ((self.down, y, self.from_last[0]), (self.right, x, self.from_last[1])):
            inside = min(max(int(at // 1), 0), shape[axis] - 1)
            found[axis] = shape[axis] - 1 - inside if last else inside
        return found[0], found[1], found[2]

    def point(self, voxel: Voxel, shape: tuple[int, int, int]) -> tuple[float, float]:
        """(x, y) of the middle of ``voxel`` in the image; the inverse of :meth:`voxel`."""
        y, x = (
            shape[axis] - 0.5 - voxel[axis] if last else voxel[axis] + 0.5
            for axis, last in ((self.down, self.from_last[0]), (self.right, self.from_last[1]))
        )
        return x, y


def cut_planes(directions: tuple[str, str, str] | None) -> tuple[CutPlane, CutPlane, CutPlane]:
    """The planes across slices (as stored), across rows and across columns of a volume whose axes run
    towards ``directions``; the last two are displayed by radiological convention where directions are known."""
    own = CutPlane(_name(directions, 0), 0, 1, 2, edges=_edges(directions, 1, 2))
    return own, _cross_plane(directions, 1), _cross_plane(directions, 2)


def _name(directions: tuple[str, str, str] | None, axis: int) -> str:
    return _UNNAMED[axis] if directions is None else _NAMES[directions[axis]]


def _cross_plane(directions: tuple[str, str, str] | None, across: int) -> CutPlane:
    down, right = (axis for axis in range(3) if axis != across)
    name = _name(directions, across)
    if directions is None:
        return CutPlane(name, across, down, right)
    below, beside = _DISPLAY_DIRECTIONS[name]
    if directions[down] not in (below, _OPPOSITE[below]):
        down, right = right, down
    if directions[down] not in (below, _OPPOSITE[below]) or directions[right] not in (
        beside,
        _OPPOSITE[beside],
    ):
        # Two axes of an oblique volume lie nearest to the same side of the patient.
        return CutPlane(name, across, min(down, right), max(down, right))
    from_last = (directions[down] != below, directions[right] != beside)
    edges = (_OPPOSITE[beside], _OPPOSITE[below], beside, below)
    return CutPlane(name, across, down, right, from_last, edges, directions[across] in ("S", "A", "R"))


def _edges(directions: tuple[str, str, str] | None, down: int, right: int) -> Edges | None:
    if directions is None:
        return None
    below, beside = directions[down], directions[right]
    return _OPPOSITE[beside], _OPPOSITE[below], beside, below
