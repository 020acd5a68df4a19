"""The 96 numbers of a polyp candidate: their definitions, and the extractor that measures them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.extractor import Extractor, FeatureDefinition, FeatureName
from semblance.core.features.polyp.candidate import Candidate, cut_out, faces
from semblance.core.features.polyp.colon_wall import (
    AIR,
    SCALES,
    TAGGED,
    ColonWall,
    Mask,
    Numbers,
    SurfaceCurvature,
)
from semblance.core.features.polyp.voxel_block import HALF, VoxelBlock, voxel_block
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Spacing, Stack
from semblance.core.language import as_lazy, tr_lazy
from semblance.core.parameters import Parameter, Value

#: Depths below the candidate's surface, in mm, at which the profile is read; negative ones lie in the lumen.
DEPTHS = (-4, -2, -1, 0, 1, 2, 3, 4, 6)
#: Radii in mm of the two balls around the candidate's middle in which tissues are counted.
NEAR, FAR = 8, 16

GEOMETRY, MORPHOLOGY, INTENSITY, CONTEXT = "Local geometry", "Morphology", "Intensity", "Context"
POSITION = "Position"


_LOCAL = (
    ("shape index, mean", "", "S = 1/2 + arctan((k1 + k2) / (k1 - k2)) / pi; 1 cap, 3/4 ridge, 1/2 saddle"),
    ("shape index, deviation", "", "standard deviation of S"),
    ("shape index, 90th percentile", "", "of S"),
    ("curvedness, mean", "1/mm", "C = sqrt((k1^2 + k2^2) / 2)"),
    ("curvedness, deviation", "1/mm", "standard deviation of C"),
    ("curvedness, 90th percentile", "1/mm", "of C"),
    ("larger principal curvature, mean", "1/mm", "k1; positive where the wall bulges into the lumen"),
    ("smaller principal curvature, mean", "1/mm", "k2 <= k1"),
    ("mean curvature, deviation", "1/mm", "standard deviation of (k1 + k2) / 2"),
    ("Gaussian curvature, mean", "1/mm²", "k1 k2"),
    ("share of cap", "", "share of the surface with S > 7/8"),
    ("share of ridge", "", "share of the surface with 5/8 < S <= 7/8"),
)

_MORPHOLOGY = (
    ("volume", "mm³", "V: voxels of the candidate times their volume"),
    ("diameter of a ball as large", "mm", "(6 V / pi)^(1/3)"),
    ("exposed area", "mm²", "A: faces towards the lumen, each times its normal's cosine"),
    ("attachment area", "mm²", "B: length of the summed normals of the faces towards other tissue"),
    ("attachment share", "", "B / (A + B)"),
    ("sphericity", "", "pi^(1/3) (6 V)^(2/3) / (A + B)"),
    ("longest axis", "mm", "2 sqrt(5 l1), l1 >= l2 >= l3 the variances along the main axes"),
    ("middle axis", "mm", "2 sqrt(5 l2)"),
    ("shortest axis", "mm", "2 sqrt(5 l3)"),
    ("elongation", "", "1 - middle axis / longest axis"),
    ("flatness", "", "1 - shortest axis / middle axis"),
    ("height", "mm", "largest distance of the surface beyond the wall, fitted around it to second degree"),
    ("mean height", "mm", "mean of the same distance"),
    ("neck diameter", "mm", "sqrt(4 B / pi)"),
    ("height over neck", "", "height / max(neck diameter, 1 mm)"),
    ("neck over middle axis", "", "neck diameter / middle axis"),
    ("solidity", "", "V / volume of the convex hull"),
    ("unevenness", "", "deviation over mean of the distance from the centroid to the exposed surface"),
    ("lean", "", "offset of the centroid across the surface's mean normal, over the ball's diameter"),
    ("bend of the wall below", "1/mm", "largest curvature of the fitted wall; positive on a fold"),
)

_INTENSITY = (
    ("mean", "HU", "mean of the candidate"),
    ("deviation", "HU", "standard deviation"),
    ("skewness", "", "third standardised moment"),
    ("kurtosis", "", "fourth standardised moment minus 3"),
    ("10th percentile", "HU", ""),
    ("median", "HU", ""),
    ("90th percentile", "HU", ""),
    ("entropy", "bits", "of 16 bins over -200 to 200 HU, values beyond in the outer bins"),
    ("core mean", "HU", "mean 2 mm and more below the surface (or of the deepest voxels)"),
    ("core deviation", "HU", "standard deviation there"),
    ("rim minus core", "HU", "mean of the rest minus that of the core"),
    ("gradient at the surface, mean", "HU/mm", "length of the gradient at 1 mm"),
    ("gradient at the surface, deviation", "HU/mm", "its standard deviation"),
)

_CONTEXT = (
    *(
        (
            tr_lazy("{tissue} within {radius} mm", tissue=tissue, radius=radius),
            "",
            tr_lazy("share of the ball of voxels with {limits} HU", limits=limits),
        )
        for tissue, limits in (
            ("air", "below -500"),
            ("fat", "-200 to -30"),
            ("soft tissue", "-30 to 150"),
            ("tagged stool or bone", "above 200"),
        )
        for radius in (NEAR, FAR)
    ),
    ("contact with tagged stool", "", "share of the exposed faces that touch tagged stool"),
    ("free way", "mm", "from the surface along its mean normal to the next tissue, at most 24"),
    ("lumen radius", "mm", "radius of the largest ball of lumen within 24 mm"),
    ("wall beside", "mm", "median depth of the first fat below the surface 5 to 12 mm away, at most 8"),
    ("wall below", "mm", "depth of the first fat below the centroid against the mean normal, at most 16"),
    ("mean curvature beside", "1/mm", "mean of (k1 + k2) / 2 at 2 mm, on the surface 5 to 12 mm away"),
    ("shape index beside", "", "mean of S there"),
)

_PLACE = (
    ("place along slices", "", "slice over the number of slices"),
    ("place along rows", "", "row over the number of rows"),
    ("place along columns", "", "column over the number of columns"),
)


@functools.cache
def definitions() -> tuple[FeatureDefinition, ...]:
    """All 96, in the order in which they are measured."""
    local = [
        FeatureDefinition(
            tr_lazy("{name}, at {scale} mm", name=as_lazy(name), scale=scale), GEOMETRY, unit, formula
        )
        for scale in SCALES
        for name, unit, formula in _LOCAL
    ]
    profile = [
        FeatureDefinition(
            tr_lazy("density {where}", where=_depth(depth)),
            INTENSITY,
            "HU",
            "mean along the normals of the surface",
        )
        for depth in DEPTHS
    ]
    return (
        *local,
        *(FeatureDefinition(name, MORPHOLOGY, unit, formula) for name, unit, formula in _MORPHOLOGY),
        *(
            FeatureDefinition(tr_lazy("density, {name}", name=as_lazy(name)), INTENSITY, unit, formula)
            for name, unit, formula in _INTENSITY
        ),
        *profile,
        *(FeatureDefinition(name, CONTEXT, unit, formula) for name, unit, formula in _CONTEXT),
        *(FeatureDefinition(name, POSITION, unit, formula) for name, unit, formula in _PLACE),
    )


def _depth(depth: int) -> str:
    if depth == 0:
        return tr_lazy("at the surface")
    return (
        tr_lazy("{depth} mm below the surface", depth=depth)
        if depth > 0
        else tr_lazy("{value} mm before the surface", value=-depth)
    )


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
    """The numbers in the order of :func:`semblance.core.features.polyp.extractor.definitions`."""
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


@functools.cache
def _names() -> tuple[FeatureName, ...]:
    return tuple(
        FeatureName(f"{one.group}: {one.name}" + (f" ({one.unit})" if one.unit else ""), one.group)
        for one in definitions()
    )


class Polyp(Extractor):
    """96 numbers of a candidate in a CT volume (metricboost.txt 5.3, which names their groups only).

    36 of local geometry, 20 of shape and size, 22 of densities, 15 of the surroundings, 3 of the place in the
    scan; see :func:`definitions` for each. The region is a position (a box of one voxel),
    a box around the candidate, or drawn voxels; without one the middle of the volume is meant. The volume is
    brought to 1 mm, so all is in mm whatever the spacing. Only the place changes when the scan is shifted or
    turned by 90 degrees.
    """

    name = "polyp"
    title = "Polyp candidate"
    summary = "A polyp candidate in a CT volume: local geometry, shape, density, surroundings; 96 numbers."
    version = 1
    volumes = True
    needs_volume: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "spacing",
            "1,1,1",
            "Slice, row and column spacing in mm, for volumes without a spacing of their own.",
        ),
    )

    COUNT: ClassVar[int] = 96

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        self._spacing = _spacing(str(self.settings["spacing"]))

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """Raises BadInput: a single image has no depth."""
        raise BadInput(
            tr_lazy("'{image}' is a single image; polyp candidates lie in volumes.", image=image.name),
            "Import the CT series, or use an extractor for images.",
        )

    def prepare_stack(self, stack: Stack, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(96,) float32.

        Raises:
            BadInput: the region lies outside the volume or near no wall of the colon, or a slice cannot be
                read.
        """
        block = voxel_block(stack, region, self._spacing)
        wall = ColonWall(block.hu)
        return np.array(measured(block, wall, cut_out(block, wall)), dtype=np.float32)


def _spacing(text: str) -> Spacing:
    try:
        z, y, x = (float(part) for part in text.split(","))
    except ValueError:
        raise BadArguments(
            tr_lazy("The spacing '{value}' is not three numbers.", value=text),
            "Write it like 1,0.7,0.7 (slice, row, column).",
        ) from None
    return z, y, x
