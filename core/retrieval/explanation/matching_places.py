"""The regions of two images in which the features agree most: Gabor energy, shared words, measured outlines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor
from semblance.core.features.gabor import Gabor
from semblance.core.features.mass import Mass
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import as_lazy, tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.bits import BitDistance
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.steps.codebook import Codebook
from semblance.core.retrieval.explanation.shares import Grouping

#: Regions shown of a pair of images, and their radius as a share of the width.
REGIONS, RADIUS = 3, 0.09
#: Number of windows along each side for shared words, their radius, and the least number of descriptors.
_WINDOWS, _WORD_RADIUS, _FEWEST = 9, 0.12, 3
#: Maximum number of outline points.
_OUTLINE = 64

Ring = tuple[float, float, float]


@dataclass(frozen=True)
class ImagePlaces:
    """On one image: ``rings`` (x, y, radius) in shares of the measured box (the radius of its width), ``outline`` in
    pixels of the image."""

    rings: tuple[Ring, ...] = ()
    outline: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class MatchingPlaces:
    """The same number of rings on both images; ``note`` explains them, or says that there are none."""

    query: ImagePlaces
    case: ImagePlaces
    note: str


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """An image, its region, and its extracted features (d,)."""

    image: Image
    region: Region | None
    numbers: Matrix


def places_of(
    extractor: Extractor, grouping: Grouping, query: ImageFeatures, case: ImageFeatures, usual: Matrix
) -> MatchingPlaces:
    """The regions in which ``query`` and ``case`` agree most under the metric of ``grouping``.

    ``usual`` (n, d') are head rows of other cases of the library.

    Raises:
        BadInput: an image that the extractor cannot measure.
    """
    if isinstance(extractor, Gabor):
        return _gabor_energy_places(grouping, query, case, usual)
    if isinstance(extractor, Mass):
        sides = [
            ImagePlaces(outline=_thinned(extractor.outline(one.image, one.region))) for one in (query, case)
        ]
        return MatchingPlaces(sides[0], sides[1], tr_lazy("The outlines that were measured."))
    codebook = grouping.head[0] if grouping.head else None
    if isinstance(codebook, Codebook):
        return _visual_word_places(extractor, codebook, query, case, usual)
    nothing = tr_lazy(
        "{title}: the features describe the image as a whole, so there are no places to show.",
        title=as_lazy(extractor.title),
    )
    return MatchingPlaces(ImagePlaces(), ImagePlaces(), nothing)


def column_weights(grouping: Grouping) -> Matrix:
    """(d',) the weight of a squared difference in each column alone.

    If that depends on the pair, the weight after the steps.
    """
    distance = grouping.metric.distance
    if isinstance(distance, BitDistance):
        directions = (distance.directions * np.sqrt(distance.weights)).T
    elif isinstance(distance, LinearDistance):
        directions = np.eye(distance.n_features) if distance.L is None else distance.L
    else:
        directions = np.eye(distance.n_features)
    weights: Matrix = np.square(grouping.pull_back(directions)).sum(axis=0)
    return weights


def _gabor_energy_places(
    grouping: Grouping, query: ImageFeatures, case: ImageFeatures, usual: Matrix
) -> MatchingPlaces:
    """Blocks with texture on both that differ less than usual: the mean of w (q - s)^2 over cases s of the
    library less w (x - q)^2, times the root of both energies w q^2 and w x^2, each summed over the bands.

    w is the weight of a feature. Equal blocks are compared, and the rings mark them.
    """
    q, x = grouping.head_rows(np.stack([query.numbers, case.numbers]))
    weights = column_weights(grouping)

    def by_block(values: Matrix) -> Matrix:
        summed: Matrix = (weights * values).reshape(Gabor.LAYOUT).sum(axis=(0, 1))
        return summed

    nearer = by_block(np.square(usual - q).mean(axis=0)) - by_block(np.square(x - q))
    score = np.maximum(nearer, 0.0) * np.sqrt(by_block(q * q) * by_block(x * x))
    rings = _peaks(score)
    note = _agreement_note(len(rings)) if rings else tr_lazy("No region is distinctive in both images.")
    return MatchingPlaces(ImagePlaces(rings), ImagePlaces(rings), note)


def _peaks(score: Matrix) -> tuple[Ring, ...]:
    """The highest positive blocks, smoothed, none beside another, moved towards their neighbours' weight."""
    score = _smoothed(_smoothed(score).T).T
    left = np.maximum(score, 0.0)
    found: list[Ring] = []
    height, width = score.shape
    for _ in range(REGIONS):
        row, column = (int(place) for place in np.unravel_index(left.argmax(), left.shape))
        if left[row, column] <= 0.0:
            break
        rows, columns = slice(max(0, row - 1), row + 2), slice(max(0, column - 1), column + 2)
        near = np.maximum(score[rows, columns], 0.0)
        down, right = np.mgrid[rows, columns][:, : near.shape[0], : near.shape[1]]
        y, x = (float((at * near).sum() / near.sum()) for at in (down, right))
        x, y = (min(max(at, RADIUS), 1.0 - RADIUS) for at in ((x + 0.5) / width, (y + 0.5) / height))
        found.append((x, y, RADIUS))
        left[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = 0.0
    return tuple(found)


def _smoothed(rows: Matrix) -> Matrix:
    """A quarter of each neighbour below and above, borders repeated."""
    wide = np.pad(rows, ((1, 1), (0, 0)), mode="edge")
    out: Matrix = 0.25 * wide[:-2] + 0.5 * wide[1:-1] + 0.25 * wide[2:]
    return out


def _visual_word_places(
    extractor: Extractor, codebook: Codebook, query: ImageFeatures, case: ImageFeatures, usual: Matrix
) -> MatchingPlaces:
    """The windows of both that share most words, rare words counting more (-log of their usual share)."""
    rarity = -np.log(np.maximum(usual.mean(axis=0), 1e-6))
    windows = []
    for one in (query, case):
        at, words = extractor.keypoints(one.image, one.region), codebook.words_of(one.numbers)
        if at is None or len(at) != len(words):
            return MatchingPlaces(
                ImagePlaces(),
                ImagePlaces(),
                tr_lazy("The places of the visual words are not known for these images."),
            )
        windows.append(_counted(at, words, codebook.n_columns))
    (from_q, q), (from_x, x) = windows
    if not len(from_q) or not len(from_x):
        return MatchingPlaces(ImagePlaces(), ImagePlaces(), tr_lazy("Too few visual words for a place."))
    shared = np.stack([np.minimum(row, x) @ rarity for row in q])
    rings: list[tuple[Ring, Ring]] = []
    while len(rings) < REGIONS and shared.max() > 0.0:
        here, there = (int(place) for place in np.unravel_index(shared.argmax(), shared.shape))
        rings.append(((*from_q[here], _WORD_RADIUS), (*from_x[there], _WORD_RADIUS)))
        shared[_near(from_q, here)] = 0.0
        shared[:, _near(from_x, there)] = 0.0
    note = _sharing(len(rings)) if rings else tr_lazy("No places share a visual word.")
    return MatchingPlaces(
        ImagePlaces(tuple(a for a, _ in rings)), ImagePlaces(tuple(b for _, b in rings)), note
    )


def _counted(
    at: npt.NDArray[np.float64], words: npt.NDArray[np.intp], count: int
) -> tuple[list[tuple[float, float]], Matrix]:
    """Centres (x, y) of windows with enough words, and (w, count) the share of each word in them."""
    ticks = ((np.arange(_WINDOWS) + 0.5) / _WINDOWS).tolist()
    centres, rows = [], []
    for y in ticks:
        for x in ticks:
            inside = np.hypot(at[:, 0] - x, at[:, 1] - y) <= _WORD_RADIUS
            if inside.sum() >= _FEWEST:
                centres.append((x, y))
                rows.append(np.bincount(words[inside], minlength=count) / inside.sum())
    return centres, np.array(rows, dtype=np.float64).reshape(len(rows), count)


def _near(centres: list[tuple[float, float]], place: int) -> npt.NDArray[np.bool_]:
    at = np.array(centres)
    near: npt.NDArray[np.bool_] = np.hypot(*(at - at[place]).T) < 2.0 * _WORD_RADIUS
    return near


def _thinned(points: npt.NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    chosen = points[:: max(1, len(points) // _OUTLINE)]
    return tuple((float(x), float(y)) for x, y in chosen)


def _agreement_note(count: int) -> str:
    if count == 1:
        return tr_lazy("Region a agrees most in Gabor energy.")
    return tr_lazy("Regions a–{last} agree most in Gabor energy.", last="abc"[count - 1])


def _sharing(count: int) -> str:
    if count == 1:
        return tr_lazy("Region a shares most visual words.")
    return tr_lazy("Regions a–{last} share most visual words.", last="abc"[count - 1])
