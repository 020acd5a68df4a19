"""Grey, texture and margin of a mass, and grey of its breast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.features.mass.outline import entropy

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Width of the surround, and of the margin's band, in R = sqrt(area / pi).
AROUND, MARGIN = 0.6, 0.25

_BINS = 32
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
    found = np.clip(values * _BINS, 0, _BINS - 1).astype(np.intp)
    return entropy(np.bincount(found, minlength=_BINS))


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
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-6:
        return high
    counts, edges = np.histogram(values, bins=64, range=(low, high))
    middles = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)[:-1]
    total = np.cumsum(counts * middles)
    above = len(values) - below
    gap = total[:-1] / np.maximum(below, 1) - (total[-1] - total[:-1]) / np.maximum(above, 1)
    return float(edges[1:-1][int(np.argmax(below * above * gap**2))])
