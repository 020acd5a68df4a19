"""The 38 features of a mass: name, group, unit and formula, in order.

9 of the whole breast, 29 of the segmented mass and its surround. ``A`` is the mass's area, ``P`` its
perimeter, ``R = sqrt(A / pi)``; the surround lies within ``0.6 R`` of the mass; ``g`` is grey, 0 black
to 1 white, and ``|dg|`` its gradient's length; lengths are in mm where the image tells its spacing, else in
pixels. ``r_i`` are distances of 256 points, evenly along the outline, from the mass's centroid, divided by
the largest; ``m`` their mean.
"""

from __future__ import annotations

from semblance.core.features.definition import FeatureDefinition
from semblance.core.features.extractor import FeatureName

_SIZE, _SHAPE, _RADIAL, _MARGIN = "Size", "Shape", "Radial length", "Margin"
_CONTRAST, _GREY, _SURROUND, _TEXTURE, _BREAST = "Contrast", "Grey inside", "Grey around", "Texture", "Breast"

FEATURES: tuple[FeatureDefinition, ...] = (
    FeatureDefinition("Area", _SIZE, "mm² or px²", "A, pixels of the mass times the area of one"),
    FeatureDefinition("Perimeter", _SIZE, "mm or px", "P, Cauchy and Crofton's formula in four directions"),
    FeatureDefinition(
        "Longest diameter", _SIZE, "mm or px", "largest distance between two points of the outline"
    ),
    FeatureDefinition("Compactness", _SHAPE, "", "4 pi A / P²: 1 for a disc"),
    FeatureDefinition(
        "Eccentricity", _SHAPE, "", "of the ellipse with the same second moments: 0 disc, 1 line"
    ),
    FeatureDefinition("Solidity", _SHAPE, "", "A / area of the convex hull: 1 for convex shapes"),
    FeatureDefinition("Radial mean", _RADIAL, "", "m = mean of r_i"),
    FeatureDefinition("Radial deviation", _RADIAL, "", "standard deviation of r_i"),
    FeatureDefinition("Radial entropy", _RADIAL, "bit", "entropy of r_i in 20 bins over 0..1"),
    FeatureDefinition("Radial area ratio", _RADIAL, "", "mean of max(r_i - m, 0) / m"),
    FeatureDefinition("Radial crossings", _RADIAL, "", "how often r_i crosses m by more than 2 % of m"),
    FeatureDefinition("Radial roughness", _RADIAL, "", "sum of |r_i - r_(i+1)|"),
    FeatureDefinition(
        "Fourier factor",
        _MARGIN,
        "",
        "1 - sum(|Z_k| / |k|) / sum |Z_k|, Z the outline's Fourier descriptors",
    ),
    FeatureDefinition(
        "Spiculation at the margin",
        _MARGIN,
        "",
        "mean of |sin| of the angle between gradient and radius, weighted by |dg|, "
        "within 0.25 R of the outline",
    ),
    FeatureDefinition("Spiculation around", _MARGIN, "", "the same in the surround"),
    FeatureDefinition("Sharpness", _MARGIN, "1/mm or 1/px", "mean step of g across the outline, inwards"),
    FeatureDefinition(
        "Sharpness variation",
        _MARGIN,
        "",
        "deviation of that step / (its mean size + 0.001 per pixel)",
    ),
    FeatureDefinition("Contrast", _CONTRAST, "", "mean g inside - mean g around"),
    FeatureDefinition(
        "Conspicuity", _CONTRAST, "", "size of the mean step across the outline / mean |dg| around"
    ),
    FeatureDefinition("Mean inside", _GREY, "", "mean of g in the mass"),
    FeatureDefinition("Deviation inside", _GREY, "", "standard deviation"),
    FeatureDefinition("Skewness inside", _GREY, "", "third central moment / deviation³"),
    FeatureDefinition("Kurtosis inside", _GREY, "", "fourth central moment / deviation⁴ - 3"),
    FeatureDefinition("Mean around", _SURROUND, "", "mean of g in the surround"),
    FeatureDefinition("Deviation around", _SURROUND, "", "standard deviation"),
    FeatureDefinition("Skewness around", _SURROUND, "", "third central moment / deviation³"),
    FeatureDefinition("Texture inside", _TEXTURE, "1/mm or 1/px", "mean |dg| in the mass"),
    FeatureDefinition("Texture around", _TEXTURE, "1/mm or 1/px", "mean |dg| in the surround"),
    FeatureDefinition("Entropy inside", _TEXTURE, "bit", "entropy of g in the mass in 32 bins over 0..1"),
    FeatureDefinition(
        "Breast area",
        _BREAST,
        "mm² or px²",
        "the largest part above a tenth of the 99th percentile of g",
    ),
    FeatureDefinition("Breast density", _BREAST, "", "share of it above Otsu's threshold of its grey"),
    FeatureDefinition("Breast mean", _BREAST, "", "mean of g in the breast"),
    FeatureDefinition("Breast deviation", _BREAST, "", "standard deviation"),
    FeatureDefinition("Breast skewness", _BREAST, "", "third central moment / deviation³"),
    FeatureDefinition("Breast kurtosis", _BREAST, "", "fourth central moment / deviation⁴ - 3"),
    FeatureDefinition("Breast entropy", _BREAST, "bit", "entropy of g in 32 bins over 0..1"),
    FeatureDefinition(
        "Breast fluctuation, fine",
        _BREAST,
        "",
        "mean difference of g from its mean over 1/64 of the image's side",
    ),
    FeatureDefinition(
        "Breast fluctuation, coarse",
        _BREAST,
        "",
        "deviation of the mean of g over 1/8 of the image's side",
    ),
)

NAMES: tuple[FeatureName, ...] = tuple(FeatureName(feature.name, feature.group) for feature in FEATURES)


def markdown_table() -> str:
    """The features as a table for the help page."""
    lines = ["| group | feature | unit | what it is |", "| --- | --- | --- | --- |"]
    for feature in FEATURES:
        formula = feature.formula.replace("|", "\\|")
        lines.append(f"| {feature.group} | {feature.name} | {feature.unit} | {formula} |")
    return "\n".join(lines) + "\n"
