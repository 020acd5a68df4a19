"""Texture of lung in CT slices in 43 numbers: densities, pairs, runs and differences of grey levels."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureDefinition, FeatureName
from semblance.core.features.resampling import finite
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region

FIRST_ORDER, LOW, PAIRS = "First order", "Low attenuation", "Co-occurrence"
RUNS, DIFFERENCES = "Run length", "Grey-level difference"


_FIRST_ORDER = (
    ("mean", "HU", "mean density"),
    ("deviation", "HU", "standard deviation"),
    ("skewness", "", "third standardised moment"),
    ("kurtosis", "", "fourth standardised moment minus 3"),
    ("energy", "", "sum p(i)^2 over 32 grey levels"),
    ("entropy", "bits", "-sum p(i) log2 p(i)"),
    ("5th percentile", "HU", ""),
    ("25th percentile", "HU", ""),
    ("median", "HU", ""),
    ("75th percentile", "HU", ""),
    ("95th percentile", "HU", ""),
    ("mean absolute deviation", "HU", "mean |x - mean|"),
)
_LOW = (
    ("share below -950 HU", "", "emphysema (Gevenois et al. 1996)"),
    ("share below -910 HU", "", "emphysema in thick slices (Müller et al. 1988)"),
    ("share below -856 HU", "", "trapped air (in expiration)"),
    ("clusters below -910 HU", "", "connected areas (8 neighbours) over pixels below -910 HU"),
    ("largest cluster below -910 HU", "", "pixels of the largest area over pixels below -910 HU"),
)
#: p(i, j) of pairs one pixel apart in four directions and both ways, of 32 levels (Haralick et al. 1973).
_PAIRS = (
    ("contrast", "", "sum p (i - j)^2"),
    ("dissimilarity", "", "sum p |i - j|"),
    ("homogeneity", "", "sum p / (1 + (i - j)^2)"),
    ("angular second moment", "", "sum p^2"),
    ("entropy", "bits", "-sum p log2 p"),
    ("correlation", "", "sum p (i - m)(j - m) / s^2; 1 where all is one level"),
    ("variance", "", "s^2 = sum p (i - m)^2"),
    ("cluster shade", "", "cube root of sum p (i + j - 2 m)^3"),
    ("cluster prominence", "", "fourth root of sum p (i + j - 2 m)^4"),
    ("largest probability", "", "max p"),
    ("contrast, 3 pixels apart", "", "as above, of pairs 3 pixels apart"),
    ("correlation, 3 pixels apart", "", "as above, of pairs 3 pixels apart"),
)
#: r(i, l) runs of level i (1..16) and length l in four directions (Galloway 1975, Chu 1990), N in all.
_RUNS = (
    ("short runs", "", "sum r / l^2 / N"),
    ("long runs", "", "sum r l^2 / N"),
    ("grey-level non-uniformity", "", "sum over i of (sum over l of r)^2 / N^2"),
    ("run-length non-uniformity", "", "sum over l of (sum over i of r)^2 / N^2"),
    ("run percentage", "", "N / (4 pixels)"),
    ("runs of low density", "", "sum r / i^2 / N"),
    ("runs of high density", "", "sum r i^2 / N"),
    ("run entropy", "bits", "-sum (r / N) log2 (r / N)"),
)
#: d(k) share of pairs one pixel apart in four directions that differ by k of 32 levels (Weszka et al. 1976).
_DIFFERENCES = (
    ("mean", "", "sum k d"),
    ("variance", "", "sum (k - mean)^2 d"),
    ("contrast", "", "sum k^2 d"),
    ("angular second moment", "", "sum d^2"),
    ("entropy", "bits", "-sum d log2 d"),
    ("inverse difference moment", "", "sum d / (1 + k^2)"),
)

DEFINITIONS: tuple[FeatureDefinition, ...] = tuple(
    FeatureDefinition(name, group, unit, formula)
    for group, rows in (
        (FIRST_ORDER, _FIRST_ORDER),
        (LOW, _LOW),
        (PAIRS, _PAIRS),
        (RUNS, _RUNS),
        (DIFFERENCES, _DIFFERENCES),
    )
    for name, unit, formula in rows
)


Levels = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[np.float64]

#: Right, down right, down, down left: the others are these seen from the other end.
DIRECTIONS = ((0, 1), (1, 1), (1, 0), (1, -1))
#: HU of the lowest and of the highest level's outer ends; beyond them the outer levels go on.
LOWEST, HIGHEST = -1000.0, 200.0


def levels_of(hu: npt.NDArray[np.float32], count: int) -> Levels:
    """Densities of any shape as levels 0 to ``count`` - 1 of equal width."""
    scaled = (hu - np.float32(LOWEST)) * np.float32(count / (HIGHEST - LOWEST))
    levels: Levels = np.clip(np.floor(scaled), 0, count - 1).astype(np.int64)
    return levels


def pairs(levels: Levels, inside: Mask, distance: int) -> tuple[Levels, Levels]:
    """(m,) and (m,) the levels of all pixels ``distance`` apart in the four directions, both ``inside``."""
    first, second = [], []
    height, width = levels.shape
    for down, right in DIRECTIONS:
        dy, dx = down * distance, right * distance
        if dy >= height or abs(dx) >= width:
            continue
        here = (slice(0, height - dy), slice(max(0, -dx), width - max(0, dx)))
        there = (slice(dy, height), slice(max(0, dx), width - max(0, -dx)))
        both = inside[here] & inside[there]
        first.append(levels[here][both])
        second.append(levels[there][both])
    if not first:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(first), np.concatenate(second)


def cooccurrence(first: Levels, second: Levels, count: int) -> Table:
    """(count, count) symmetric shares of pairs; all zero without a pair."""
    table = np.bincount(first * count + second, minlength=count * count).reshape(count, count)
    both = (table + table.T).astype(np.float64)
    return both / max(float(both.sum()), 1.0)


def runs(levels: Levels, inside: Mask) -> tuple[Levels, Levels]:
    """(n,) the levels and (n,) the lengths of all runs of one level in the four directions."""
    height, width = levels.shape
    row, column = np.indices((height, width))
    found, lengths = [], []
    for down, right in DIRECTIONS:
        line, place = _lines(row, column, down, right, height, width)
        order = np.lexsort((place.ravel(), line.ravel()))
        # What lies outside is a level of its own, taken out afterwards.
        along = np.where(inside, levels, -1).ravel()[order]
        of_line = line.ravel()[order]
        starts = np.flatnonzero(np.concatenate([[True], (np.diff(along) != 0) | (np.diff(of_line) != 0)]))
        length = np.diff(np.concatenate([starts, [len(along)]]))
        is_start = along[starts] >= 0
        found.append(along[starts][is_start])
        lengths.append(length[is_start])
    return np.concatenate(found), np.concatenate(lengths)


def _lines(
    row: Levels, column: Levels, down: int, right: int, height: int, width: int
) -> tuple[Levels, Levels]:
    """The line in a direction that each pixel lies on, and its place along it."""
    if down == 0:
        return row, column
    return column - right * row + height + width, row


#: Levels of pairs and differences, and of runs, which would be cut short by more.
LEVELS, RUN_LEVELS = 32, 16
_APART = 3
_CLUSTERED = -910.0
#: HU that black and white of an image without densities stand for: the usual window for lungs.
BLACK, WHITE = -1350.0, 150.0


@functools.cache
def _names() -> tuple[FeatureName, ...]:
    return tuple(
        FeatureName(f"{one.group}: {one.name}" + (f" ({one.unit})" if one.unit else ""), one.group)
        for one in DEFINITIONS
    )


class LungTexture(Extractor):
    """43 numbers of a region of lung in a CT slice (metricboost.txt 5.2 and bdm.txt, which give their number
    only; the groups are those of the field).

    12 of first order, 5 of low attenuation, 12 of co-occurrence, 8 of run length, 6 of grey-level difference;
    see :data:`DEFINITIONS`. Pixels outside the outline take no part. Images that
    hold no Hounsfield units are taken for screenshots in the lung window (-1350 to 150 HU).
    """

    name = "lung_texture"
    title = "Lung texture"
    summary = "Density and texture of a lung region in a CT slice: 43 numbers."
    version = 1

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(43,) float32.

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        part = image.cropped(region)
        hu = finite(densities(part), image)
        inside = np.ones(hu.shape, dtype=np.bool_)
        if region is not None and region.outline is not None:
            clipped = region.clipped(image.height, image.width)
            assert clipped.outline is not None
            drawn = clipped.outline.mask(*hu.shape)
            # An outline thinner than a pixel holds no pixel's middle.
            inside = drawn if drawn.any() else inside
        levels = levels_of(hu, LEVELS)
        first, second = pairs(levels, inside, 1)
        apart = cooccurrence(*pairs(levels, inside, _APART), LEVELS)
        numbers = [
            *_first_order(hu[inside].astype(np.float64), levels[inside]),
            *_low(hu, inside),
            *_pairs(cooccurrence(first, second, LEVELS)),
            _contrast(apart),
            _correlation(apart),
            *_runs(*runs(levels_of(hu, RUN_LEVELS), inside), int(inside.sum())),
            *_differences(np.abs(first - second)),
        ]
        return np.array(numbers, dtype=np.float32)


def densities(image: Image) -> npt.NDArray[np.float32]:
    """(h, w) HU. Signed numbers without a unit, as arrays of CT hold them, are HU."""
    signed = image.pixels.dtype == np.int16
    if not image.is_colour and (image.values.unit == "HU" or signed):
        return image.physical_values()
    return image.grey() * np.float32(WHITE - BLACK) + np.float32(BLACK)


def _first_order(hu: npt.NDArray[np.float64], levels: Levels) -> Iterable[float]:
    mean, deviation = float(hu.mean()), float(hu.std())
    # Rounding of densities that are all the same.
    scaled = (hu - mean) / deviation if deviation > 1e-3 else np.zeros_like(hu)
    share = np.bincount(levels, minlength=LEVELS) / len(levels)
    return (
        mean,
        deviation,
        float((scaled**3).mean()),
        float((scaled**4).mean()) - 3.0 if deviation > 1e-3 else 0.0,
        float(share @ share),
        _entropy(share),
        *np.percentile(hu, (5, 25, 50, 75, 95)).tolist(),
        float(np.abs(hu - mean).mean()),
    )


def _low(hu: npt.NDArray[np.float32], inside: Mask) -> Iterable[float]:
    from scipy import ndimage

    shares = [float(np.mean(hu[inside] < limit)) for limit in (-950.0, _CLUSTERED, -856.0)]
    labels, count = ndimage.label(inside & (hu < _CLUSTERED), np.ones((3, 3), dtype=np.bool_))
    sizes = np.bincount(labels.ravel())[1:]
    low = max(int(sizes.sum()), 1)
    return (*shares, count / low, float(sizes.max(initial=0)) / low)


def _pairs(table: Table) -> Iterable[float]:
    i = np.arange(LEVELS, dtype=np.float64)
    apart = np.abs(i[:, None] - i)
    mean = _mean(table)
    both = i[:, None] + i - 2 * mean
    return (
        _contrast(table),
        float((table * apart).sum()),
        float((table / (1 + apart**2)).sum()),
        float((table**2).sum()),
        _entropy(table),
        _correlation(table),
        _variance(table),
        float(np.cbrt((table * both**3).sum())),
        float((table * both**4).sum() ** 0.25),
        float(table.max()),
    )


def _mean(table: Table) -> float:
    return float(table.sum(axis=1) @ np.arange(LEVELS))


def _variance(table: Table) -> float:
    return float(table.sum(axis=1) @ (np.arange(LEVELS) - _mean(table)) ** 2)


def _contrast(table: Table) -> float:
    i = np.arange(LEVELS, dtype=np.float64)
    return float((table * (i[:, None] - i) ** 2).sum())


def _correlation(table: Table) -> float:
    variance = _variance(table)
    if variance < 1e-12:
        return 1.0
    i = np.arange(LEVELS) - _mean(table)
    return float(i @ table @ i) / variance


def _runs(levels: Levels, lengths: Levels, pixels: int) -> Iterable[float]:
    count = len(levels)
    grey, length = (levels + 1).astype(np.float64), lengths.astype(np.float64)
    of_level = np.bincount(levels, minlength=RUN_LEVELS).astype(np.float64)
    of_length = np.bincount(lengths).astype(np.float64)
    both = np.unique(levels * (int(lengths.max()) + 1) + lengths, return_counts=True)[1]
    return (
        float((1 / length**2).mean()),
        float((length**2).mean()),
        float(of_level @ of_level) / count**2,
        float(of_length @ of_length) / count**2,
        count / (4 * pixels),
        float((1 / grey**2).mean()),
        float((grey**2).mean()),
        _entropy(both / count),
    )


def _differences(apart: Levels) -> Iterable[float]:
    share = np.bincount(apart, minlength=LEVELS) / max(len(apart), 1)
    k = np.arange(LEVELS, dtype=np.float64)
    mean = float(k @ share)
    return (
        mean,
        float((k - mean) ** 2 @ share),
        float(k**2 @ share),
        float(share @ share),
        _entropy(share),
        float((share / (1 + k**2)).sum()),
    )


def _entropy(share: npt.NDArray[np.float64]) -> float:
    """Bits."""
    some = share[share > 0]
    return max(float(-(some * np.log2(some)).sum()), 0.0)
