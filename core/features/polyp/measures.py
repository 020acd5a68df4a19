"""The numbers of a candidate that was cut out, group by group."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from semblance.core.features.polyp.candidate import Candidate, faces
from semblance.core.features.polyp.colon_wall import AIR, TAGGED, ColonWall, Mask, Numbers, SurfaceCurvature
from semblance.core.features.polyp.definitions import DEPTHS, FAR, NEAR, SCALES
from semblance.core.features.polyp.voxel_block import HALF, VoxelBlock

#: HU of fat, and of soft tissue with some contrast.
_FAT, _SOFT = (-200.0, -30.0), (-30.0, 150.0)
_BINS = np.linspace(-200.0, 200.0, 17)
#: mm below the surface where the core begins.
_CORE = 2.0
#: The surface beside the candidate, mm from it.
_BESIDE = (5.0, 12.0)
#: How far to look for fat below the wall beside and below the candidate, and for the wall across, in mm.
_WALL, _BELOW, _ACROSS = 8, 16, float(HALF)
#: The way into the lumen begins so many mm before the candidate's highest voxel.
_OWN = 2.0


def measured(block: VoxelBlock, wall: ColonWall, found: Candidate) -> list[float]:
    """The numbers in the order of :func:`semblance.core.features.polyp.definitions.definitions`."""
    weights = _areas(wall, found)
    normal = _mean_normal(wall.bends[2].normal[found.on], weights)
    return [
        *(number for scale in SCALES for number in _local(_own(wall.bends[scale], found), weights)),
        *_morphology(wall, found, weights, normal),
        *_intensity(block, wall, found, weights),
        *_context(block, wall, found, normal),
        *block.place,
    ]


def _own(bend: SurfaceCurvature, found: Candidate) -> SurfaceCurvature:
    on = found.on
    return SurfaceCurvature(bend.normal[on], bend.slope[on], bend.below[on], bend.k1[on], bend.k2[on])


def _areas(wall: ColonWall, found: Candidate) -> Numbers:
    """(m,) mm² of the surface at each of the candidate's surface voxels.

    A face counts with the cosine between it and the surface, which is exact for a plane however it lies.
    """
    at = wall.at[found.on]
    normal = wall.bends[1].normal[found.on]
    area = np.zeros(len(at))
    for axis, _, open_faces in faces(found.voxels, wall.lumen):
        area += open_faces[tuple(at.T)] * np.abs(normal[:, axis])
    return np.maximum(area, 1e-3)


def _mean_normal(normals: Numbers, weights: Numbers) -> Numbers:
    summed: Numbers = (normals * weights[:, None]).sum(axis=0)
    length = float(np.linalg.norm(summed))
    return summed / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])


def _local(bend: SurfaceCurvature, weights: Numbers) -> Iterable[float]:
    share = weights / weights.sum()
    index, curved = bend.shape_index, bend.curvedness
    return (
        *_mean_deviation(index, share),
        float(np.percentile(index, 90)),
        *_mean_deviation(curved, share),
        float(np.percentile(curved, 90)),
        float(bend.k1 @ share),
        float(bend.k2 @ share),
        _mean_deviation(bend.mean, share)[1],
        float((bend.k1 * bend.k2) @ share),
        float(share[index > 0.875].sum()),
        float(share[(index > 0.625) & (index <= 0.875)].sum()),
    )


def _mean_deviation(values: Numbers, share: Numbers) -> tuple[float, float]:
    mean = float(values @ share)
    return mean, math.sqrt(max(float((values - mean) ** 2 @ share), 0.0))


def _morphology(wall: ColonWall, found: Candidate, weights: Numbers, normal: Numbers) -> Iterable[float]:
    at = np.argwhere(found.voxels).astype(np.float64)
    volume = float(len(at))
    ball = (6 * volume / math.pi) ** (1 / 3)
    exposed = float(weights.sum())
    base, attachment = _base(wall, found)
    whole = exposed + attachment
    centre = at.mean(axis=0)
    # A voxel is itself a cube of 1 mm, with a variance of 1/12 along each axis.
    spread = (
        np.linalg.eigvalsh(np.cov(at.T, bias=True) + np.eye(3) / 12)[::-1]
        if len(at) > 1
        else np.full(3, 1 / 12)
    )
    longest, middle, shortest = (2 * math.sqrt(5 * max(one, 0.0)) for one in spread)
    height = np.maximum(found.base.height(wall.places[found.on]), 0.0)
    neck = math.sqrt(4 * attachment / math.pi)
    radii = np.linalg.norm(wall.at[found.on] - centre, axis=1)
    offset = centre - base
    across = offset - (offset @ normal) * normal
    return (
        volume,
        ball,
        exposed,
        attachment,
        attachment / whole,
        math.pi ** (1 / 3) * (6 * volume) ** (2 / 3) / whole,
        longest,
        middle,
        shortest,
        1 - middle / longest,
        1 - shortest / middle,
        float(height.max()),
        float(height.mean()),
        neck,
        float(height.max()) / max(neck, 1.0),
        neck / middle,
        volume / _hull_volume(at),
        float(radii.std() / max(radii.mean(), 1e-9)),
        float(np.linalg.norm(across)) / ball,
        found.base.bend,
    )


def _base(wall: ColonWall, found: Candidate) -> tuple[Numbers, float]:
    """Centroid (3,) and area of where the candidate hangs on other tissue.

    The length of the summed face normals is the area of a flat base however it lies.
    """
    middle, count, vector = np.zeros(3), 0, np.zeros(3)
    for axis, side, closed in faces(found.voxels, wall.tissue & ~found.voxels):
        at = np.argwhere(closed)
        middle += at.sum(axis=0)
        vector[axis] += side * len(at)
        count += len(at)
    if not count:
        return np.argwhere(found.voxels).mean(axis=0), 0.0
    return middle / count, float(np.linalg.norm(vector))


def _hull_volume(at: Numbers) -> float:
    """mm³ of the convex hull of voxels, half a voxel farther than their middles."""
    from scipy.spatial import ConvexHull

    flat = len(at) < 5 or bool((np.ptp(at, axis=0) < 1).any())
    if flat or np.linalg.matrix_rank(at - at.mean(axis=0)) < 3:
        return float(len(at))
    hull = ConvexHull(at)
    return max(float(hull.volume + hull.area / 2), float(len(at)))


def _intensity(block: VoxelBlock, wall: ColonWall, found: Candidate, weights: Numbers) -> Iterable[float]:
    from scipy import ndimage

    values = block.hu[found.voxels].astype(np.float64)
    depth = wall.depth[found.voxels]
    core = depth >= min(_CORE, float(depth.max()))
    mean, deviation = float(values.mean()), float(values.std())
    scaled = (values - mean) / max(deviation, 1e-9)
    counts = np.histogram(np.clip(values, _BINS[0], _BINS[-1]), _BINS)[0] / len(values)
    rim = values[~core] if not core.all() else values
    share = weights / weights.sum()
    at, normal = wall.at[found.on], wall.bends[2].normal[found.on]
    lines = at.T[:, None, :] - np.array(DEPTHS)[None, :, None] * normal.T[:, None, :]
    profile = ndimage.map_coordinates(block.hu, lines, order=1, mode="nearest")
    slope = wall.bends[1].slope[found.on]
    return (
        mean,
        deviation,
        float((scaled**3).mean()),
        float((scaled**4).mean()) - 3.0 if deviation > 1e-9 else 0.0,
        *(float(one) for one in np.percentile(values, (10, 50, 90))),
        float(-(counts[counts > 0] * np.log2(counts[counts > 0])).sum()),
        float(values[core].mean()),
        float(values[core].std()),
        float(rim.mean() - values[core].mean()),
        *_mean_deviation(slope, share),
        *(float(one) for one in profile @ share),
    )


def _context(block: VoxelBlock, wall: ColonWall, found: Candidate, normal: Numbers) -> Iterable[float]:
    from scipy import ndimage

    centre = np.argwhere(found.voxels).mean(axis=0)
    grid = np.indices(block.hu.shape, dtype=np.float32)
    away2 = sum((grid[axis] - np.float32(centre[axis])) ** 2 for axis in range(3))
    tissues = ((-math.inf, AIR), _FAT, _SOFT, (TAGGED, math.inf))
    balls = [block.hu[away2 <= radius * radius] for radius in (NEAR, FAR)]
    shares = [float(np.mean((ball >= low) & (ball < high))) for low, high in tissues for ball in balls]
    touched = sum(int(one.sum()) for _, _, one in faces(found.voxels, wall.stool))
    exposed = sum(int(one.sum()) for _, _, one in faces(found.voxels, wall.lumen))
    surface = wall.at[found.on]
    top = surface[np.argmax(surface @ normal)]
    away = np.sqrt(away2[tuple(wall.at.T)]) - (3 * np.count_nonzero(found.voxels) / (4 * math.pi)) ** (1 / 3)
    beside = (away >= _BESIDE[0]) & (away <= _BESIDE[1]) & ~found.on
    bend = wall.bends[2]
    return (
        *shares,
        touched / max(exposed, 1),
        _way(wall.tissue, top, normal),
        float(ndimage.distance_transform_edt(wall.lumen).max()),
        _wall_beside(block, wall, bend.normal, beside),
        _first_fat(block, centre[None], normal[None], _BELOW)[0],
        float(bend.mean[beside].mean()) if beside.any() else 0.0,
        float(bend.shape_index[beside].mean()) if beside.any() else 0.5,
    )


def _way(tissue: Mask, top: Numbers, direction: Numbers) -> float:
    """mm from the voxel ``top`` along ``direction`` to the first tissue, the candidate itself left out."""
    steps = np.arange(_OWN, _ACROSS + 0.25, 0.5)
    at = np.rint(top + steps[:, None] * direction).astype(np.intp)
    inside = ((at >= 0) & (at < tissue.shape[0])).all(axis=1)
    at = np.clip(at, 0, tissue.shape[0] - 1)
    hit = np.flatnonzero(inside & tissue[tuple(at.T)])
    return float(steps[hit[0]]) if len(hit) else _ACROSS


def _wall_beside(block: VoxelBlock, wall: ColonWall, normals: Numbers, beside: Mask) -> float:
    if not beside.any():
        return float(_WALL)
    return float(np.median(_first_fat(block, wall.places[beside], normals[beside], _WALL)))


def _first_fat(block: VoxelBlock, at: Numbers, normals: Numbers, farthest: int) -> Numbers:
    """(n,) mm below the points ``at`` (n, 3), against their normals, where fat begins."""
    from scipy import ndimage

    depths = np.arange(1.0, farthest + 1.0)
    lines = np.asarray(at, dtype=np.float64).T[:, None, :] - depths[None, :, None] * normals.T[:, None, :]
    fat = ndimage.map_coordinates(block.hu, lines, order=1, mode="nearest") < _FAT[1]
    first: Numbers = np.where(fat.any(axis=0), depths[fat.argmax(axis=0)], float(farthest))
    return first
