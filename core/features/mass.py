"""The 38 numbers of a mass and its breast: their definitions, and the extractor that measures them.

9 are of the whole breast, 29 of the segmented mass and its surround (bdm.txt, section 4.1). ``A`` is the
mass's area, ``P`` its perimeter, ``R = sqrt(A / pi)``; the surround lies within ``0.6 R`` of the mass; ``g``
is grey, 0 black to 1 white, and ``|dg|`` its gradient's length; lengths are in mm where the image's spacing
is known, else in pixels. ``r_i`` are distances of 256 points, evenly along the outline, from the mass's
centroid, divided by the largest; ``m`` their mean.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureDefinition, FeatureName
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import segment_in
from semblance.core.parameters import Parameter

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
        "Fourier factor", _MARGIN, "", "1 - sum(|Z_k| / |k|) / sum |Z_k|, Z the outline's Fourier descriptors"
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
        "Sharpness variation", _MARGIN, "", "deviation of that step / (its mean size + 0.001 per pixel)"
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
        "Breast area", _BREAST, "mm² or px²", "the largest part above a tenth of the 99th percentile of g"
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
        "Breast fluctuation, coarse", _BREAST, "", "deviation of the mean of g over 1/8 of the image's side"
    ),
)

NAMES: tuple[FeatureName, ...] = tuple(FeatureName(feature.name, feature.group) for feature in FEATURES)


Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

POINTS = 256
_RADIAL_BINS = 20
_CROSSED = 0.02
_SMOOTHING = 1.0


def perimeter(mask: Mask) -> float:
    """Length of the border in pixels, by Cauchy and Crofton's formula with lines in four directions."""
    from skimage.measure import perimeter_crofton

    return float(perimeter_crofton(mask, directions=4))  # type: ignore[no-untyped-call]


def outline_points(mask: Mask) -> Floats:
    """(POINTS, 2) (x, y) in pixels, evenly along the longest outline of ``mask``; a circle of the same area
    where the mask is too small to have one."""
    from scipy import ndimage
    from skimage.measure import find_contours

    soft = ndimage.gaussian_filter(np.pad(mask, 4).astype(np.float64), _SMOOTHING)
    contours = find_contours(soft, 0.5)  # type: ignore[no-untyped-call]
    if not contours:
        rows, columns = np.nonzero(mask)
        turn = np.arange(POINTS) * (2 * np.pi / POINTS)
        radius = np.sqrt(len(rows) / np.pi)
        return np.stack([columns.mean() + radius * np.cos(turn), rows.mean() + radius * np.sin(turn)], axis=1)
    longest = max(contours, key=len)[:, ::-1] - 4.0
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(longest, axis=0).T))])
    places = np.arange(POINTS) * (along[-1] / POINTS)
    points: Floats = np.stack([np.interp(places, along, longest[:, axis]) for axis in (0, 1)], axis=1)
    return points


def size_and_shape(mask: Mask) -> list[float]:
    """Area, perimeter, longest diameter (pixels), compactness, eccentricity, solidity."""
    from scipy.spatial import ConvexHull, QhullError
    from scipy.spatial.distance import pdist

    rows, columns = np.nonzero(mask)
    area = float(len(rows))
    length = perimeter(mask)
    # Pixels are squares: their corners are the outline's farthest points.
    edge = mask & ~_eroded(mask)
    y, x = np.nonzero(edge)
    corners = np.concatenate([np.stack([x + dx, y + dy], axis=1) for dx in (0, 1) for dy in (0, 1)])
    try:
        hull = ConvexHull(corners)
        longest, convex = float(pdist(corners[hull.vertices]).max()), float(hull.volume)
    except QhullError:
        longest, convex = length / 2, area
    # A pixel's own spread, 1 / 12, is that of the square.
    spread = np.cov(np.stack([columns, rows]).astype(np.float64), bias=True) + np.eye(2) / 12
    small, large = np.linalg.eigvalsh(spread)
    eccentricity = float(np.sqrt(max(0.0, 1 - small / large)))
    compactness = 4 * np.pi * area / length**2
    return [area, length, longest, float(compactness), eccentricity, min(1.0, area / convex)]


def radial_length(mask: Mask, points: Floats) -> list[float]:
    """Mean, deviation, entropy, area ratio, crossings and roughness of the normalised radial length.

    J. Kilday, F. Palmieri and M. D. Fox, "Classifying mammographic lesions using computerized image
    analysis", IEEE Trans. Medical Imaging 12(4), 1993.
    """
    rows, columns = np.nonzero(mask)
    lengths = np.hypot(points[:, 0] - columns.mean(), points[:, 1] - rows.mean())
    lengths = lengths / lengths.max()
    mean = float(lengths.mean())
    counts = np.bincount(
        np.minimum((lengths * _RADIAL_BINS).astype(np.intp), _RADIAL_BINS - 1), minlength=_RADIAL_BINS
    )
    sides = np.sign(lengths - mean)[np.abs(lengths - mean) > _CROSSED * mean]
    crossings = np.count_nonzero(sides != np.roll(sides, 1))
    return [
        mean,
        float(lengths.std()),
        entropy(counts),
        float(np.maximum(lengths - mean, 0).mean() / mean),
        float(crossings),
        float(np.abs(lengths - np.roll(lengths, 1)).sum()),
    ]


def fourier_factor(points: Floats) -> float:
    """0 for a circle, towards 1 for rough outlines.

    L. Shen, R. M. Rangayyan and J. E. L. Desautels, "Application of shape analysis to mammographic
    calcifications", IEEE Trans. Medical Imaging 13(2), 1994: 1 - sum(|Z_k| / |k|) / sum |Z_k|, k from
    -N / 2 + 1 to N / 2 without 0. Dividing all by Z_1, as printed, changes nothing.
    """
    size = np.abs(np.fft.fft(points[:, 0] + 1j * points[:, 1]))
    count = len(points)
    order = np.fft.fftfreq(count, 1 / count)
    nonzero = order != 0
    return float(1 - (size[nonzero] / np.abs(order[nonzero])).sum() / size[nonzero].sum())


def entropy(counts: npt.NDArray[np.intp]) -> float:
    """Bits of a histogram."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _eroded(mask: Mask) -> Mask:
    padded = np.pad(mask, 1)
    inner: Mask = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return inner


#: Width of the surround, and of the margin's band, in R = sqrt(area / pi).
AROUND, MARGIN = 0.6, 0.25

_GREY_BINS = 32
#: Steps of grey per pixel below this are noise of an 8-bit image.
_LEAST_STEP = 1e-3
#: A background this much darker than the brightest is no tissue.
_DARK = 0.1


def moments(values: Floats) -> list[float]:
    """Mean, standard deviation, skewness, excess kurtosis; 0 for the last two where all are equal."""
    mean = float(values.mean())
    centred = values - mean
    squared = centred * centred
    deviation = float(np.sqrt(squared.mean()))
    if deviation < 1e-6:
        return [mean, 0.0, 0.0, 0.0]
    third = float(np.mean(squared * centred)) / deviation**3
    fourth = float(np.mean(squared * squared)) / deviation**4
    return [mean, deviation, third, fourth - 3]


def grey_entropy(values: Floats) -> float:
    """Bits of the histogram of grey 0..1."""
    found = np.clip(values * _GREY_BINS, 0, _GREY_BINS - 1).astype(np.intp)
    return entropy(np.bincount(found, minlength=_GREY_BINS))


def margin_and_grey(grey: Floats, mask: Mask) -> dict[str, float]:
    """The features of margin, contrast, grey and texture by name; lengths in pixels.

    Spiculation after N. Karssemeijer and G. M. te Brake, "Detection of stellate distortions in mammograms",
    IEEE Trans. Medical Imaging 15(5), 1996, and Z. Huo et al., Medical Physics 22(10), 1995: lines that
    radiate from a mass have gradients across the radius, a smooth border along it. Conspicuity after H. L.
    Kundel and G. Revesz, American Journal of Roentgenology 126, 1976: contrast by the complexity around.
    """
    from scipy import ndimage

    rows, columns = np.nonzero(mask)
    radius = np.sqrt(len(rows) / np.pi)
    distance = np.asarray(ndimage.distance_transform_edt(~mask), dtype=np.float64)
    depth = np.asarray(ndimage.distance_transform_edt(mask), dtype=np.float64)
    around = (distance > 0) & (distance <= max(AROUND * radius, 1.5))
    if not around.any():
        around = mask
    smooth = ndimage.gaussian_filter(grey, 1.0, mode="nearest")
    down, across = (_slope(smooth, axis) for axis in (0, 1))
    length = np.hypot(down, across)
    y, x = np.arange(mask.shape[0])[:, None] - rows.mean(), np.arange(mask.shape[1])[None, :] - columns.mean()
    out = np.maximum(np.hypot(x, y), 1e-9)
    tangential = np.abs(across * y - down * x) / out
    band = (distance <= MARGIN * radius) & (depth <= max(MARGIN * radius, 1.0))
    if not band.any():
        band = mask
    step = _steps(mask, depth, distance, down, across)
    mean_step = float(step.mean())
    inside, outside = moments(grey[mask]), moments(grey[around])
    return {
        "Spiculation at the margin": _share(tangential, length, band),
        "Spiculation around": _share(tangential, length, around),
        "Sharpness": mean_step,
        "Sharpness variation": float(step.std()) / (abs(mean_step) + _LEAST_STEP),
        "Contrast": inside[0] - outside[0],
        "Conspicuity": abs(mean_step) / (float(length[around].mean()) + _LEAST_STEP),
        "Mean inside": inside[0],
        "Deviation inside": inside[1],
        "Skewness inside": inside[2],
        "Kurtosis inside": inside[3],
        "Mean around": outside[0],
        "Deviation around": outside[1],
        "Skewness around": outside[2],
        "Texture inside": float(length[mask].mean()),
        "Texture around": float(length[around].mean()),
        "Entropy inside": grey_entropy(grey[mask]),
    }


def breast(grey: Floats) -> list[float]:
    """Area (pixels), density, four moments, entropy, fine and coarse fluctuation of the breast."""
    from scipy import ndimage

    smooth = ndimage.gaussian_filter(grey, 1.0, mode="nearest")
    tissue = smooth > _DARK * float(np.percentile(smooth, 99))
    parts, count = ndimage.label(tissue)
    if count == 0:
        tissue = np.ones(grey.shape, dtype=np.bool_)
    elif count > 1:
        tissue = parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:]))
    values = grey[tissue]
    side = max(grey.shape)
    fine = np.abs(grey - _mean_over(grey, side / 64))[tissue]
    coarse = _mean_over(grey, side / 8)[tissue]
    return [
        float(len(values)),
        float(np.mean(values > _otsu(values))),
        *moments(values),
        grey_entropy(values),
        float(fine.mean()),
        float(coarse.std()),
    ]


def _slope(plane: Floats, axis: int) -> Floats:
    """Central differences per pixel; 0 across a single row or column."""
    if plane.shape[axis] < 2:
        return np.zeros_like(plane)
    return np.asarray(np.gradient(plane, axis=axis), dtype=np.float64)


def _steps(mask: Mask, depth: Floats, distance: Floats, down: Floats, across: Floats) -> Floats:
    """The slope of grey towards the inside at each pixel of the border, inside and outside of it."""
    from scipy import ndimage

    border = ((depth > 0) & (depth <= 1.0)) | ((distance > 0) & (distance <= 1.0))
    if not border.any():
        border = mask
    soft = ndimage.gaussian_filter(mask.astype(np.float64), 2.0, mode="nearest")
    inwards_down, inwards_across = (_slope(soft, axis)[border] for axis in (0, 1))
    size = np.maximum(np.hypot(inwards_down, inwards_across), 1e-9)
    steps: Floats = (down[border] * inwards_down + across[border] * inwards_across) / size
    return steps


def _share(part: Floats, whole: Floats, where: Mask) -> float:
    return float(part[where].sum() / (whole[where].sum() + _LEAST_STEP * np.count_nonzero(where)))


def _mean_over(grey: Floats, side: float) -> Floats:
    from scipy import ndimage

    return np.asarray(ndimage.uniform_filter(grey, 2 * int(side / 2) + 1, mode="nearest"), dtype=np.float64)


def _otsu(values: Floats) -> float:
    """Otsu's threshold: the cut of 64 that parts the grey into the two most different halves."""
    from skimage.filters import threshold_otsu

    # Of scikit-image it is the middle of the last bin of the darker half.
    edges = np.histogram_bin_edges(values, 64)
    middle = threshold_otsu(values, nbins=64)  # type: ignore[no-untyped-call]
    return float(edges[np.searchsorted(edges, middle)])


#: Longest side, in pixels, of what is measured: a larger mass or breast is reduced to it.
LONGEST = 256

#: Powers of the length of a pixel that turn a number of pixels into one of mm.
_POWERS = {"mm² or px²": 2, "mm or px": 1, "1/mm or 1/px": -1}


class Mass(Extractor):
    """38 numbers of a mass: 9 of the whole breast, 29 of the mass and its surround (bdm.txt, section 4.1).

    :data:`FEATURES` says what each is. An outline (polygon, brush, mask) is the mass
    as drawn. A rectangle, an ellipse and an image without a region only say where the mass is: it is found
    inside, bright or dark.
    """

    name = "mass"
    title = "Mass: shape, margin and breast"
    summary = "Size, shape, margin, contrast and texture of a mass, and its breast: 38 numbers."
    version = 1
    parameters = (
        Parameter(
            "segment",
            "auto",
            "auto finds the mass inside rectangles and ellipses and keeps other outlines; always, or never.",
            choices=("auto", "always", "never"),
        ),
    )

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return NAMES

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(38,) float32.

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        grey = finite(image.grey(), image)
        whole = Region(0, 0, image.width, image.height)
        mass = self._mass(image, (region or whole).clipped(image.height, image.width))
        near = _with_surround(mass).clipped(image.height, image.width)
        mask = mass.mask(image.height, image.width)
        if not mask.any():
            mask = whole.mask(image.height, image.width)
            near = whole
        part = slice(near.y, near.y + near.height), slice(near.x, near.x + near.width)
        spacing = image.spacing_mm or (1.0, 1.0)
        small, pixel = _square(grey[part], spacing)
        inside = _square(mask[part].astype(np.float32), spacing)[0] >= 0.5
        if not inside.any():
            inside = np.ones(inside.shape, dtype=np.bool_)
        points = outline_points(inside)
        of_outline = [*size_and_shape(inside), *radial_length(inside, points), fourier_factor(points)]
        numbers = {
            **dict(zip((feature.name for feature in FEATURES), of_outline, strict=False)),
            **margin_and_grey(small.astype(np.float64), inside),
        }
        around, coarse = _square(grey, spacing)
        of_breast = breast(around.astype(np.float64))
        values = [numbers[feature.name] for feature in FEATURES[: -len(of_breast)]]
        scales = [pixel] * len(values) + [coarse] * len(of_breast)
        return np.array(
            [
                value * scale ** _POWERS.get(feature.unit, 0)
                for value, scale, feature in zip([*values, *of_breast], scales, FEATURES, strict=True)
            ],
            dtype=np.float32,
        )

    def outline(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float64]:
        """(p, 2) x and y, in pixels of the image, of the outline that is measured.

        Raises:
            BadInput: as :meth:`extract`.
        """
        whole = Region(0, 0, image.width, image.height)
        mass = self._mass(image, (region or whole).clipped(image.height, image.width))
        mask = mass.mask(image.height, image.width)
        if not mask.any():
            mask = whole.mask(image.height, image.width)
        near = mass.clipped(image.height, image.width)
        part = mask[near.y : near.y + near.height, near.x : near.x + near.width]
        return outline_points(part) + np.array([near.x, near.y], dtype=np.float64)

    def _mass(self, image: Image, region: Region) -> Region:
        rough = region.outline is None or isinstance(region.outline, Ellipse)
        segment = self.settings["segment"]
        return segment_in(image, region) if segment == "always" or (segment == "auto" and rough) else region


def _with_surround(mass: Region) -> Region:
    """The rectangle of the mass and what lies around it."""
    margin = math.ceil(AROUND * max(mass.width, mass.height) / 2) + 3
    return Region(mass.x - margin, mass.y - margin, mass.width + 2 * margin, mass.height + 2 * margin)


def _square(
    plane: npt.NDArray[np.float32], spacing: tuple[float, float]
) -> tuple[npt.NDArray[np.float32], float]:
    """``plane`` with square pixels and at most ``LONGEST`` of them a side, and the length of one."""
    down, across = plane.shape[0] * spacing[0], plane.shape[1] * spacing[1]
    pixel = max(min(spacing), max(down, across) / LONGEST)
    return resampled(plane, max(1, round(down / pixel)), max(1, round(across / pixel))), pixel
