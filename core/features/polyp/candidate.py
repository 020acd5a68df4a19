"""Segment the candidate from the wall of the colon, without a click."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.polyp.colon_wall import ColonWall, Mask, Numbers, Points, towards
from semblance.core.features.polyp.voxel_block import HALF, VoxelBlock
from semblance.core.language import tr_lazy

#: The cap ends where the smaller curvature falls below this, per mm, or this share of the largest.
_FLAT, _CAP_SHARE = 0.02, 0.3
#: mm that the candidate reaches beyond its cap, and from its start at most.
_RIM, FARTHEST = 4.0, 18.0
#: mm of distance from the position that weigh as much as this curvature per mm.
_PULL = 0.005
#: The wall goes on below the candidate as it lies so many mm from the cap or the drawn voxels ...
_RING = (3.5, 9.0)
#: ... where it faces the same way: the sides of a fold do not.
_FACING = 0.3
#: With so many voxels a curved wall is fitted, with fewer a plane.
_CURVED = 24
#: Distances that differ by less are equal, and a surface voxel as near as another is as good.
_TIE = 1e-6
#: With fewer voxels above the wall, a piece of the wall around the start is taken.
_LEAST, _PIECE = 10, 3.0
_MIDDLE = np.full(3, HALF, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class WallFit:
    """The wall as it would be without the candidate: height over a plane as a polynomial of second degree.

    ``origin`` (3,), ``axes`` (3, 3) rows along the plane, along it and out of it; ``terms`` (6,) of
    1, u, v, u², uv, v².
    """

    origin: Numbers
    axes: Numbers
    terms: Numbers

    def height(self, at: npt.NDArray[np.floating] | Points) -> Numbers:
        """(n,) mm that points (n, 3) lie beyond the wall, along the axis out of it."""
        u, v, w = self.axes @ (at - self.origin).T
        found: Numbers = w - _powers(u, v) @ self.terms
        return found

    @property
    def bend(self) -> float:
        """1/mm: how sharply it bends where it bends most, positive for a ridge."""
        _, _, _, uu, uv, vv = self.terms
        return float(-np.linalg.eigvalsh(np.array([[2 * uu, uv], [uv, 2 * vv]]))[0])


@dataclass(frozen=True, eq=False)
class Candidate:
    """``voxels`` (49, 49, 49) of the candidate; ``on`` (n,) which of the wall's surface voxels are its own;
    ``base``: the wall below it."""

    voxels: Mask
    on: Mask
    base: WallFit


def cut_out(block: VoxelBlock, wall: ColonWall) -> Candidate:
    """The candidate at the middle of ``block``, or the one drawn there.

    A drawn candidate is used unchanged if it touches the lumen; otherwise only its position is used.

    Raises:
        BadInput: no wall within reach of the position.
    """
    away = np.linalg.norm(wall.at - _MIDDLE, axis=1)
    z, y, x = wall.at.T
    if block.mask is not None:
        drawn: Mask = block.mask & wall.tissue
        on = drawn[z, y, x]
        if on.any():
            return Candidate(drawn, on, _base(wall, on))
    near = np.flatnonzero(away <= block.reach)
    if not len(near):
        raise BadInput(
            tr_lazy("No wall of the colon lies within {reach:.0f} mm of the candidate.", reach=block.reach),
            "Check its position, the slice order and the unit (mm or voxels).",
        )
    bend = wall.bends[2]
    start = int(near[np.argmax(bend.k2[near] - _PULL * away[near])])
    cap = _cap(wall, start)
    base = _base(wall, cap)
    voxels = _grown(wall, cap, base, wall.at[start])
    return Candidate(voxels, voxels[z, y, x], base)


def _cap(wall: ColonWall, start: int) -> Mask:
    """(n,) the surface voxels around ``start`` that bulge in every direction."""
    from scipy import ndimage

    at, bend = wall.at, wall.bends[2]
    close = np.linalg.norm(at - at[start], axis=1) <= FARTHEST
    chosen = close & (bend.k2 >= max(_FLAT, _CAP_SHARE * float(bend.k2[start])))
    chosen[start] = True
    convex = np.zeros(wall.tissue.shape, dtype=np.bool_)
    convex[tuple(at[chosen].T)] = True
    labels, _ = ndimage.label(convex, np.ones((3, 3, 3), dtype=np.bool_))
    cap: Mask = chosen & (labels[tuple(at.T)] == labels[tuple(at[start])])
    return cap


def _base(wall: ColonWall, own: Mask) -> WallFit:
    """The wall below the surface voxels ``own`` (n,), from the wall around them."""
    from scipy.spatial import cKDTree

    at, places, normals = wall.at, wall.places, wall.bends[2].normal
    out = normals[own].sum(axis=0)
    length = float(np.linalg.norm(out))
    out = out / length if length > 1e-9 else normals[np.flatnonzero(own)[0]]
    away, _ = cKDTree(at[own]).query(at, distance_upper_bound=_RING[1])
    ring = (away >= _RING[0]) & np.isfinite(away) & (normals @ out > _FACING)
    axes = np.stack([*_across(out), out])
    origin = at[own].mean(axis=0)
    u, v, w = axes @ (places[ring] - origin).T
    terms = np.zeros(6)
    if len(w) >= _CURVED:
        terms = np.linalg.lstsq(_powers(u, v), w, rcond=1e-6)[0]
    elif len(w):
        terms[0] = float(np.median(w))
    else:
        terms[0] = float((axes[2] @ (places[own] - origin).T).min())
    return WallFit(origin, axes, terms)


def _powers(u: Numbers, v: Numbers) -> Numbers:
    """(n, 6)"""
    return np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], axis=1)


def _across(out: Numbers) -> tuple[Numbers, Numbers]:
    """Two unit vectors at right angles to ``out`` and each other."""
    helper = np.zeros(3)
    helper[int(np.abs(out).argmin())] = 1.0
    first = np.cross(out, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(out, first)


def _grown(wall: ColonWall, cap: Mask, base: WallFit, start: Points) -> Mask:
    """The tissue beyond ``base`` whose nearest surface voxel is one of the ``cap`` or its rim."""
    from scipy.spatial import cKDTree

    at = wall.at
    to_cap, _ = cKDTree(at[cap]).query(at, distance_upper_bound=_RIM + 1e-9)
    rim = np.isfinite(to_cap)
    inside = np.argwhere(wall.tissue & _ball(start, FARTHEST))
    inside = inside[base.height(inside) > 0.0]
    grown = np.zeros(wall.tissue.shape, dtype=np.bool_)
    if len(inside):
        to_wall, _ = cKDTree(at).query(inside)
        to_rim, _ = cKDTree(at[rim]).query(inside)
        grown[tuple(inside[to_rim <= to_wall + _TIE].T)] = True
        grown = _piece(grown, start)
    if np.count_nonzero(grown) < _LEAST:
        grown = wall.tissue & _ball(start, _PIECE)
    return grown


def _piece(mask: Mask, at: Points) -> Mask:
    """The connected part of ``mask`` at or beside the voxel ``at``; nothing where there is none."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask, np.ones((3, 3, 3), dtype=np.bool_))
    z, y, x = at
    around = labels[z - 1 : z + 2, y - 1 : y + 2, x - 1 : x + 2]
    found = around[around > 0]
    if not len(found):
        return np.zeros_like(mask)
    own = int(labels[z, y, x])
    # Of several pieces beside it the one that touches it most.
    return np.asarray(labels == (own or int(np.bincount(found).argmax())))


def _ball(centre: Points, radius: float) -> Mask:
    sides = [(np.arange(2 * HALF + 1) - one) ** 2 for one in centre]
    inside: Mask = (
        sides[0][:, None, None] + sides[1][None, :, None] + sides[2][None, None, :] <= radius * radius
    )
    return inside


def faces(voxels: Mask, beyond: Mask) -> list[tuple[int, int, Mask]]:
    """(axis, side, which of ``voxels`` have a face towards ``beyond`` there)."""
    return [(axis, side, voxels & towards(beyond, axis, side)) for axis in range(3) for side in (-1, 1)]
