"""The extractor of lung texture."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.lung_texture.definitions import DEFINITIONS
from semblance.core.features.lung_texture.grey_levels import (
    Levels,
    Mask,
    Table,
    cooccurrence,
    levels_of,
    pairs,
    runs,
)
from semblance.core.features.resampling import finite
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region

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
    see :mod:`semblance.core.features.lung_texture.definitions`. Pixels outside the outline take no part. Images that
    hold no Hounsfield units are taken for screenshots in the lung window (-1350 to 150 HU).
    """

    name = "lung_texture"
    title = "Lung texture"
    summary = "Density and texture of a lung region in a CT slice: 43 numbers."
    version = 1

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
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
        return image.measured()
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
