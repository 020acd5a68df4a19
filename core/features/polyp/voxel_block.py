"""The surroundings of a candidate on a grid of cubes of 1 mm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import MaskOutline
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Spacing, Stack
from semblance.core.language import tr_lazy

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

#: Millimetres from the middle of a block to its faces.
HALF = 24
#: A position is no exact one: the candidate may lie so many mm away.
REACH = 10.0
#: Scanners write less for what lies outside their field.
_LEAST, _MOST = -1024.0, 3071.0
#: Spacings in mm beyond which a header is not believed.
_FINEST, _COARSEST = 0.05, 10.0


@dataclass(frozen=True, eq=False)
class VoxelBlock:
    """``hu`` (49, 49, 49): Hounsfield units every mm along slices, rows and columns, the candidate's position
    in the middle; beyond the volume its border goes on.

    ``mask``: the voxels that were drawn, or ``None``. ``reach``: mm around the middle in which to look for
    the candidate. ``place`` (3,): the position in the volume, each 0..1.
    """

    hu: Floats
    mask: Mask | None
    reach: float
    place: tuple[float, float, float]


def voxel_block(stack: Stack, region: Region | None, otherwise: Spacing) -> VoxelBlock:
    """The block around ``region`` (``None``: around the middle of the volume).

    ``otherwise``: the spacing in mm of volumes without a spacing of their own.

    Raises:
        BadInput: the region lies outside, the spacing cannot be, or slices cannot be read.
    """
    spacing = np.array(stack.spacing_mm or otherwise, dtype=np.float64)
    if not (np.isfinite(spacing).all() and spacing.min() >= _FINEST and spacing.max() <= _COARSEST):
        found = " x ".join(f"{side:g}" for side in spacing)
        raise BadInput(
            tr_lazy(
                "'{stack}' has voxels of {size} mm, which is too small or too large.",
                stack=stack.name,
                size=found,
            ),
            "Give the spacing in mm: --set spacing=1,1,1.",
        )
    shape = np.array(stack.shape)
    part = None if region is None else region.clipped(stack.shape[1], stack.shape[2])
    centre, size = _middle(stack, part)
    reach = REACH if part is None else max(REACH, float(np.linalg.norm(size * spacing)) / 2)
    # Between two voxels every number would be one of neither.
    centre = np.floor(centre + 0.5)
    half = np.ceil(HALF / spacing).astype(np.intp) + 1
    first = np.maximum(centre.astype(np.intp) - half, 0)
    last = np.minimum(centre.astype(np.intp) + half + 1, shape)
    z, y, x = first.tolist()
    depth, height, width = (last - first).tolist()
    volume = stack.volume(Region(x, y, width, height, None, z, depth))
    hu = np.clip(volume.physical_values(), _LEAST, _MOST)
    begin = centre - first - HALF / spacing
    mask = None
    if part is not None and isinstance(part.outline, MaskOutline):
        drawn = _drawn(part, stack, first, hu.shape)
        mask = _resampled(drawn.astype(np.float32), begin, spacing, edge=False) >= 0.5
    place = (centre + 0.5) / shape
    return VoxelBlock(
        _resampled(hu, begin, spacing), mask, min(reach, HALF / 2), (place[0], place[1], place[2])
    )


def _middle(stack: Stack, part: Region | None) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(3,) the index at the middle of the candidate, and (3,) its size in voxels."""
    depth, height, width = stack.shape
    if part is None:
        return (np.array([depth, height, width]) - 1) / 2, np.zeros(3)
    first, last = 0, depth
    if part.z is not None:
        first, last = max(part.z, 0), min(part.z + part.depth, depth)
    if last <= first:
        raise BadInput(
            tr_lazy(
                "The region lies outside the {depth} slices of '{stack}'.", depth=depth, stack=stack.name
            ),
            "Choose a slice within them.",
        )
    middle = [(first + last - 1) / 2, part.y + (part.height - 1) / 2, part.x + (part.width - 1) / 2]
    thick = 1 if part.z is None else last - first
    return np.array(middle), np.array([thick, part.height, part.width], dtype=np.float64)


def _drawn(
    part: Region, stack: Stack, first: npt.NDArray[np.intp], shape: tuple[int, ...]
) -> npt.NDArray[np.bool_]:
    """The drawn voxels within the voxels ``first`` to ``first + shape`` of the volume."""
    out = np.zeros(shape, dtype=np.bool_)
    for row in range(shape[0]):
        on_slice = part.on_slice(int(first[0]) + row)
        if on_slice is not None:
            whole = on_slice.mask(stack.shape[1], stack.shape[2])
            out[row] = whole[first[1] : first[1] + shape[1], first[2] : first[2] + shape[2]]
    return out


def _resampled(
    values: Floats, begin: npt.NDArray[np.float64], spacing: npt.NDArray[np.float64], edge: bool = True
) -> Floats:
    """(49, 49, 49) of ``values`` from index ``begin`` in steps of 1 mm, linear between them."""
    from scipy import ndimage

    count = 2 * HALF + 1
    step = 1.0 / spacing
    if all(math.isclose(one, 1.0) for one in step) and np.allclose(begin, np.rint(begin)):
        places = [np.rint(begin[axis]).astype(np.intp) + np.arange(count) for axis in range(3)]
        inside = [np.clip(at, 0, side - 1) for at, side in zip(places, values.shape, strict=True)]
        cut = values[np.ix_(*inside)]
        if not edge:
            for axis, (at, valid) in enumerate(zip(places, inside, strict=True)):
                cut[(slice(None),) * axis + (at != valid,)] = 0
        return np.ascontiguousarray(cut)
    # What is finer than the new grid would come out as noise.
    blur = [0.5 * math.sqrt(max(one * one - 1.0, 0.0)) for one in step]
    smooth = ndimage.gaussian_filter(values, blur, mode="nearest", truncate=3.0) if any(blur) else values
    return ndimage.affine_transform(
        smooth,
        step,
        offset=begin,
        output_shape=(count, count, count),
        order=1,
        mode="nearest" if edge else "constant",
        output=np.float32,
    )
