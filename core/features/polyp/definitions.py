"""The 96 numbers of a polyp candidate: name, group, unit, and what each is."""

from __future__ import annotations

import functools

from semblance.core.features.definition import FeatureDefinition
from semblance.core.language import as_lazy, tr_lazy

#: Deviations of the Gaussians, in mm, through which the wall is looked at.
SCALES = (1, 2, 3)
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
