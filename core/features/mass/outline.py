"""Size, shape and radial length of a mass from its mask."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

POINTS = 256
_BINS = 20
_CROSSED = 0.02
_SMOOTHING = 1.0


def perimeter(mask: Mask) -> float:
    """Length of the border in pixels, by Cauchy and Crofton's formula with lines in four directions.

    Cauchy: L is pi / 2 times the mean width over directions; border crossings are counted along rows, columns
    and both diagonals, whose lines lie 1 and 1 / sqrt(2) pixels apart.
    """
    padded = np.pad(mask, 1)
    straight = np.count_nonzero(padded[:, 1:] != padded[:, :-1]) + np.count_nonzero(padded[1:] != padded[:-1])
    oblique = np.count_nonzero(padded[1:, 1:] != padded[:-1, :-1])
    oblique += np.count_nonzero(padded[1:, :-1] != padded[:-1, 1:])
    return float(np.pi / 8 * (straight + oblique / np.sqrt(2.0)))


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
    counts = np.bincount(np.minimum((lengths * _BINS).astype(np.intp), _BINS - 1), minlength=_BINS)
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
    kept = order != 0
    return float(1 - (size[kept] / np.abs(order[kept])).sum() / size[kept].sum())


def entropy(counts: npt.NDArray[np.intp]) -> float:
    """Bits of a histogram."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _eroded(mask: Mask) -> Mask:
    padded = np.pad(mask, 1)
    inner: Mask = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return inner
