"""A slab of a volume: several neighbouring planes shown as one, by their maximum, minimum or average."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.cut_planes import CutPlane
from semblance.core.imaging.image import Image
from semblance.core.imaging.volume import Volume
from semblance.core.language import tr_lazy

#: Planes of the slowest axis in one block: what is read of it stays in the cache of a processor.
_BLOCK = 2


class SlabMode(Enum):
    """How the planes of a slab become one."""

    MAXIMUM = "MIP"
    MINIMUM = "MinIP"
    AVERAGE = "average"


#: What they are called on the screen and in print.
MODE_NAMES = {
    SlabMode.MAXIMUM: tr_lazy("MIP"),
    SlabMode.MINIMUM: tr_lazy("MinIP"),
    SlabMode.AVERAGE: tr_lazy("Average"),
}


@dataclass(frozen=True)
class Slab:
    """Planes as thick as ``thickness_mm`` in all, or so many planes where their distance is not known."""

    mode: SlabMode
    thickness_mm: float

    def planes(self, step_mm: float | None) -> int:
        """How many planes, ``step_mm`` from each other, are nearest to the thickness; one at least."""
        return max(1, round(self.thickness_mm / (step_mm or 1.0)))

    def extent(self, place: int, count: int, step_mm: float | None) -> tuple[int, int]:
        """The first of ``count`` planes that belongs to the slab around plane ``place``, and the one behind its last.
        Of an even number one more plane lies behind ``place`` than before it. At the ends the slab is thinner."""
        planes = self.planes(step_mm)
        first = place - (planes - 1) // 2
        return max(0, first), min(count, first + planes)


def slab_image(volume: Volume, plane: CutPlane, place: int, slab: Slab) -> tuple[Image, float]:
    """The slab around plane ``place`` of ``volume`` as an image, and how thick it is: mm, or planes where the distance
    of planes is not known.

    It is made of the stored numbers: extremes have their type, an average is float32 of an exact sum. What the file
    calls padding counts only where nothing else is.
    """
    step = None if volume.spacing_mm is None else volume.spacing_mm[plane.across]
    first, behind = slab.extent(place, volume.voxels.shape[plane.across], step)
    part = [slice(None)] * 3
    part[plane.across] = slice(first, behind)
    voxels = volume.voxels[tuple(part)]
    # Values fall where stored numbers rise.
    mode = slab.mode if volume.values.slope >= 0 else _REVERSED.get(slab.mode, slab.mode)
    made = np.empty([side for axis, side in enumerate(voxels.shape) if axis != plane.across], voxels.dtype)
    if mode is SlabMode.AVERAGE:
        made = made.astype(np.float32)
    rows = _BLOCK if plane.across == 2 else max(_BLOCK, (1 << 18) // max(1, voxels[0].nbytes))
    for start in range(0, len(made), rows if plane.across else len(made)):
        block, axis = (voxels[start : start + rows] if plane.across else voxels), plane.across
        if axis == 2:
            # Along the fastest axis NumPy takes three times as long as after a turn in the cache of the processor.
            block, axis = np.ascontiguousarray(np.moveaxis(np.ascontiguousarray(block), 2, 0)), 0
        made[start : start + rows if plane.across else None] = _projected(
            block, axis, mode, volume.values.padding
        )
    whole = replace(volume, voxels=np.expand_dims(made, plane.across))
    return plane.image(whole, 0), (behind - first) * (step or 1.0)


_REVERSED = {SlabMode.MAXIMUM: SlabMode.MINIMUM, SlabMode.MINIMUM: SlabMode.MAXIMUM}


def _projected(
    voxels: npt.NDArray[Any], axis: int, mode: SlabMode, padding: tuple[float, float] | None
) -> npt.NDArray[Any]:
    """``voxels`` (depth, height, width) without ``axis``."""
    padded = None if padding is None else (voxels >= padding[0]) & (voxels <= padding[1])
    if padded is not None and padded.any():
        return _without_padding(voxels, axis, mode, padded)
    if mode is SlabMode.AVERAGE:
        out: npt.NDArray[Any] = _sum(voxels, axis) / np.float64(voxels.shape[axis])
        return out
    extreme = np.maximum if mode is SlabMode.MAXIMUM else np.minimum
    found: npt.NDArray[Any] = extreme.reduce(voxels, axis=axis)
    return found


def _sum(voxels: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
    """The exact sum: at most 2 ** 15 planes of 16 bits fit into 32, and 32-bit floats are summed in 64."""
    is_small = voxels.dtype.kind in "iu" and voxels.dtype.itemsize <= 2 and voxels.shape[axis] < 1 << 15
    out: npt.NDArray[Any] = voxels.sum(axis=axis, dtype=np.int32 if is_small else np.float64)
    return out


def _without_padding(
    voxels: npt.NDArray[Any], axis: int, mode: SlabMode, padded: npt.NDArray[np.bool_]
) -> npt.NDArray[Any]:
    """As :func:`_projected`, of what is no padding; a padded voxel where all are."""
    everywhere = padded.all(axis=axis)
    some = voxels.take(0, axis=axis)
    if mode is SlabMode.AVERAGE:
        counts = np.maximum((~padded).sum(axis=axis), 1)
        means: npt.NDArray[Any] = np.where(everywhere, some, _sum(np.where(padded, 0, voxels), axis) / counts)
        return means
    is_maximum = mode is SlabMode.MAXIMUM
    limits = np.iinfo(voxels.dtype) if voxels.dtype.kind in "iu" else np.finfo(voxels.dtype)
    neutral = np.array(limits.min if is_maximum else limits.max, voxels.dtype)
    kept = np.where(padded, neutral, voxels)
    extremes = kept.max(axis=axis) if is_maximum else kept.min(axis=axis)
    found: npt.NDArray[Any] = np.where(everywhere, some, extremes)
    return found
