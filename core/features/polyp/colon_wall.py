"""Lumen, wall, and how the wall bends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Points = npt.NDArray[np.intp]

#: Deviations of the Gaussians, in mm, that smooth the wall before its curvature is measured.
SCALES = (1, 2, 3)
#: HU below which a voxel is air, and above which it is tagged stool (or bone).
AIR, TAGGED = -500.0, 200.0
#: Tagged stool lies at most so many mm from air: bone does not.
_BESIDE_AIR = 3
#: The wall is smooth below fat and above muscle: what matters is where the lumen ends.
_LUMEN, _TISSUE = -1000.0, 100.0
#: Curvatures of voxels nearer to the border of the block are not trusted.
_MARGIN = 3
#: Curvature, per mm, that no smoothed wall exceeds: noise where the gradient vanishes.
_SHARPEST = 2.0
#: Smoothing moves a surface; a voxel of it lies at most so many mm off.
_FARTHEST_OFF = 1.5
#: Derivatives of fourth order: (steps, weight). Those of second order err with the direction at 1 mm.
_FIRST = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))
_SECOND = ((-2, -1 / 12), (-1, 16 / 12), (1, 16 / 12), (2, -1 / 12))
_SECOND_HERE = -30 / 12
_FACES = [(axis, side) for axis in range(3) for side in (-1, 1)]


@dataclass(frozen=True, eq=False)
class SurfaceCurvature:
    """Derivatives at the n voxels of a surface, at one scale.

    ``normal`` (n, 3) into the lumen; ``slope`` (n,) HU/mm; ``below`` (n,) mm from the voxel to the surface;
    ``k1`` >= ``k2`` (n,) 1/mm the principal curvatures there, positive where the wall bulges into the lumen.
    """

    normal: Numbers
    slope: Numbers
    below: Numbers
    k1: Numbers
    k2: Numbers

    @property
    def mean(self) -> Numbers:
        """(n,) mean curvature (k1 + k2) / 2, in 1/mm."""
        return (self.k1 + self.k2) / 2

    @property
    def curvedness(self) -> Numbers:
        """Koenderink and van Doorn, Image and Vision Computing 10, 1992."""
        return np.sqrt((self.k1**2 + self.k2**2) / 2)

    @property
    def shape_index(self) -> Numbers:
        """0 cup, 1/4 rut, 1/2 saddle, 3/4 ridge, 1 cap; 1/2 on a plane (the same paper, brought to 0..1)."""
        return 0.5 + np.arctan2(self.k1 + self.k2, self.k1 - self.k2) / np.pi


class ColonWall:
    """The lumen of a block (air and tagged stool), and the surface of the tissue around it."""

    def __init__(self, hu: Floats) -> None:
        """``hu`` (49, 49, 49).

        Raises:
            BadInput: no air, so there is no wall.
        """
        self.hu = hu
        self.air: Mask = hu < AIR
        if not self.air.any():
            raise BadInput(
                "There is no air within 24 mm of the candidate, so it lies on no wall of the colon.",
                "Check its position, the slice order and the unit (mm or voxels).",
            )
        self.stool = self._stool()
        self.lumen: Mask = self.air | self.stool
        self.tissue: Mask = ~self.lumen
        surface = np.zeros_like(self.lumen)
        for axis, side in _FACES:
            surface |= self.tissue & towards(self.lumen, axis, side)
        inside = (slice(_MARGIN, -_MARGIN),) * 3
        trusted = np.zeros_like(surface)
        trusted[inside] = surface[inside]
        #: (n, 3) voxels of tissue beside lumen.
        self.at: Points = np.argwhere(trusted)
        if not len(self.at):
            raise BadInput("No wall of the colon is near the candidate.", "Check its position.")
        self.level = np.where(self.lumen, np.float32(_LUMEN), np.clip(hu, _LUMEN, _TISSUE))
        self.level[self.air] = np.clip(hu[self.air], _LUMEN, _TISSUE)

    def _stool(self) -> Mask:
        """Tagged stool and fluid with the mixed voxels between them and air."""
        from scipy import ndimage

        tagged: Mask = self.hu > TAGGED
        if not tagged.any():
            return tagged
        beside = ndimage.binary_dilation(self.air, iterations=_BESIDE_AIR)
        labels, count = ndimage.label(tagged)
        touching = np.unique(labels[beside & tagged])
        is_stool = np.zeros(count + 1, dtype=np.bool_)
        is_stool[touching[touching > 0]] = True
        stool: Mask = is_stool[labels]
        if stool.any():
            mixed = ndimage.binary_dilation(stool) & ndimage.binary_dilation(self.air)
            stool = (stool | mixed) & ~self.air
        return stool

    @cached_property
    def bends(self) -> dict[int, SurfaceCurvature]:
        """By scale in mm, at the voxels ``at``."""
        from scipy import ndimage

        return {
            scale: _bend(ndimage.gaussian_filter(self.level, scale, mode="nearest", truncate=3.0), self.at)
            for scale in SCALES
        }

    @cached_property
    def places(self) -> Numbers:
        """(n, 3) where the surface really passes by the voxels ``at``, between voxels."""
        return self.at + self.bends[SCALES[0]].below[:, None] * self.bends[SCALES[0]].normal

    @cached_property
    def depth(self) -> Numbers:
        """(49, 49, 49) mm from each voxel of tissue to the nearest of the lumen; 0 in the lumen."""
        from scipy import ndimage

        found: Numbers = ndimage.distance_transform_edt(self.tissue)
        return found


def towards(mask: Mask, axis: int, side: int) -> Mask:
    """The voxels whose neighbour along ``axis`` on ``side`` (-1 or 1) is in ``mask``."""
    out = np.zeros_like(mask)
    here: list[slice] = [slice(None)] * 3
    there: list[slice] = [slice(None)] * 3
    here[axis], there[axis] = (slice(0, -1), slice(1, None)) if side > 0 else (slice(1, None), slice(0, -1))
    out[tuple(here)] = mask[tuple(there)]
    return out


def _bend(level: Floats, at: Points) -> SurfaceCurvature:
    """Curvatures of the level sets of ``level`` at the voxels ``at`` (Monga and Benayoun, 1995)."""
    flat = level.ravel().astype(np.float64)
    steps = (level.shape[1] * level.shape[2], level.shape[2], 1)
    here = at @ np.array(steps)
    value = flat[here]
    gradient = np.empty((len(at), 3))
    hessian = np.empty((len(at), 3, 3))
    for axis, step in enumerate(steps):
        gradient[:, axis] = sum(weight * flat[here + k * step] for k, weight in _FIRST)
        hessian[:, axis, axis] = _SECOND_HERE * value + sum(
            weight * flat[here + k * step] for k, weight in _SECOND
        )
        for other in range(axis):
            mixed = sum(
                weight * across * flat[here + k * step + j * steps[other]]
                for k, weight in _FIRST
                for j, across in _FIRST
            )
            hessian[:, axis, other] = hessian[:, other, axis] = mixed
    slope = np.linalg.norm(gradient, axis=1)
    safe = np.maximum(slope, 1e-6)
    normal = -gradient / safe[:, None]
    trace = np.trace(hessian, axis1=1, axis2=2)
    along = np.einsum("ni,nij,nj->n", normal, hessian, normal)
    mean = -(trace - along) / (2 * safe)
    gauss = np.einsum("ni,nij,nj->n", normal, _adjugate(hessian), normal) / safe**2
    mean = np.clip(mean, -_SHARPEST, _SHARPEST)
    apart = np.minimum(np.sqrt(np.maximum(mean**2 - gauss, 0.0)), _SHARPEST)
    below = np.clip((value - AIR) / safe, -_FARTHEST_OFF, _FARTHEST_OFF)
    return SurfaceCurvature(normal, slope, below, _moved(mean + apart, below), _moved(mean - apart, below))


def _moved(curvature: Numbers, below: Numbers) -> Numbers:
    """The curvature ``below`` mm farther out: surfaces beside each other share their centres."""
    return curvature / np.maximum(1.0 + curvature * below, 0.5)


def _adjugate(matrices: Numbers) -> Numbers:
    """(n, 3, 3) of symmetric (n, 3, 3)."""
    a, b, c = matrices[:, 0, 0], matrices[:, 0, 1], matrices[:, 0, 2]
    d, e, f = matrices[:, 1, 1], matrices[:, 1, 2], matrices[:, 2, 2]
    rows = [
        [d * f - e * e, c * e - b * f, b * e - c * d],
        [c * e - b * f, a * f - c * c, b * c - a * e],
        [b * e - c * d, b * c - a * e, a * d - b * b],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
