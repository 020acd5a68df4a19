"""A regular grid for volumes whose slices lie unevenly or, as with a tilted gantry, sideways of each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.cut_planes import Voxel
from semblance.core.imaging.memory import check_fits
from semblance.core.imaging.volume import Volume

#: Steps that differ by less than this share, and slices that lie less pixels sideways, are regular.
_EVEN, _ASIDE = 0.05, 0.5


@dataclass(frozen=True)
class SliceGrid:
    """Places ``distance_mm`` apart along the normal of a volume's slices.

    ``slices``: the slice that each place shows, the nearest one. ``aside``: the whole pixels (down, right) by which a
    slice lies sideways of the middle one.
    """

    distance_mm: float
    slices: tuple[int, ...]
    aside: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, positions: npt.NDArray[np.float64]) -> SliceGrid | None:
        """The grid for slices at ``positions`` (n, 3): mm along the normal of the first, and pixels down and right of
        it. ``None`` where they are on one already, or not in order."""
        along = np.abs(positions[:, 0] - positions[0, 0])
        steps, aside = np.diff(along), positions[:, 1:] - positions[len(positions) // 2, 1:]
        if len(steps) == 0 or (steps <= 0).any():
            return None
        step = float(np.median(steps))
        if np.abs(steps - step).max() <= _EVEN * step and np.abs(aside).max() <= _ASIDE:
            return None
        at = step * np.arange(round(float(along[-1]) / step) + 1)
        nearest = np.abs(along[None, :] - at[:, None]).argmin(axis=1)
        whole = np.rint(aside).astype(int)
        return cls(step, tuple(nearest.tolist()), tuple((int(down), int(right)) for down, right in whole))

    @property
    def is_tilted(self) -> bool:
        """Whether slices lie sideways of each other."""
        return any(any(one) for one in self.aside)

    def straight(self, voxel: Voxel, shape: Voxel) -> Voxel:
        """The place on the grid of a voxel of the volume, whose slices are of ``shape``; inside it."""
        z, y, x = voxel
        nearest = min(range(len(self.slices)), key=lambda place: abs(self.slices[place] - z))
        down, right = self.aside[z]
        return nearest, _inside(y + down, shape[1]), _inside(x + right, shape[2])

    def original(self, place: Voxel, shape: Voxel) -> Voxel:
        """The voxel of the volume at a place on the grid; the inverse of :meth:`straight`."""
        z = self.slices[place[0]]
        down, right = self.aside[z]
        return z, _inside(place[1] - down, shape[1]), _inside(place[2] - right, shape[2])

    def volume(self, volume: Volume) -> Volume:
        """``volume`` on the grid, as dark as its darkest where no slice is.

        Raises:
            BadInput: it does not fit into memory.
        """
        voxels = volume.voxels
        depth = len(self.slices)
        check_fits(depth * voxels[0].nbytes, volume.name)
        darkest = voxels.max() if volume.values.inverse else voxels.min()
        out = np.full((depth, *voxels.shape[1:]), darkest, voxels.dtype)
        for place, z in enumerate(self.slices):
            (to_rows, rows), (to_columns, columns) = map(_overlap, self.aside[z], voxels.shape[1:])
            out[place, to_rows, to_columns] = voxels[z, rows, columns]
        spacing = volume.spacing_mm
        return replace(
            volume, voxels=out, spacing_mm=None if spacing is None else (self.distance_mm, *spacing[1:])
        )


def _overlap(shift: int, size: int) -> tuple[slice, slice]:
    """Where to, and which part, of ``size`` pixels that lie ``shift`` further on."""
    kept = max(0, size - abs(shift))
    to = max(shift, 0)
    return slice(to, to + kept), slice(max(-shift, 0), max(-shift, 0) + kept)


def _inside(at: int, size: int) -> int:
    return min(max(at, 0), size - 1)
