"""The places that make two images alike: the framed part of each, and pairs of places in the frames.

How much a part matters is measured by hiding it: the similarity falls (Zeiler and Fergus, ECCV 2014). The frames are
the two squares of places that matter most and match best, and the pairs in them are found by the descriptions of the
places. tests/benchmarks/bench_places_that_matter.py measures that the frames matter more than other squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Floats, unit_rows
from semblance.core.metrics.distance import Matrix

#: Places along each side of a frame, and pairs with a letter.
FRAME, LETTERS = 5, "abcd"
#: Two places with a letter are at least so many places apart, along a row or a column.
APART = 2
#: How much the match of two squares counts, compared with how much one of them matters. Chosen on images other than
#: those of the benchmark: at 1 the frames match better and matter less.
MATCHING = 0.5
#: Places from one square that is hidden to the next.
STEP = 3
#: The blur that hides, as a share of the image's side, and that of the edge of what is hidden.
_BLUR, _SOFT = 1 / 14, 1 / 56

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PlacePair:
    """A place of the query and the place of the case that matches it, by their numbers, and the cosine of both."""

    letter: str
    query: int
    case: int
    similarity: float


@dataclass(frozen=True, eq=False)
class MatchedImages:
    """What is alike in two images of ``side`` x ``side`` places.

    ``frames``: upper left place (row, column) of the frame of the query and of the case. ``partners`` (2, p): the place
    of the other image that matches each best, ``similarity`` (2, p) its cosine.
    """

    side: int
    frames: tuple[tuple[int, int], tuple[int, int]]
    pairs: tuple[PlacePair, ...]
    partners: Places
    similarity: Matrix

    def in_frame(self, image: int) -> npt.NDArray[np.bool_]:
        """(p,) which places are in the frame of the query (0) or of the case (1)."""
        return square(self.side, self.frames[image]).reshape(-1) > 0.0


def match_images(
    maps: tuple[Floats, Floats],
    mean: Floats | None,
    weights: tuple[Matrix, Matrix],
    flat: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None = None,
    filled: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None = None,
) -> MatchedImages:
    """Match the places of two images. ``maps``: of both (side, side, c); ``mean`` (c,): the mean place of the library,
    ``None`` for that of both images. ``weights``: (side, side) how much the places of both matter. ``flat``: (p,) the
    places of both on which nothing is seen, which get no letter. ``filled``: (p,) those whose annotations were filled
    in before the images were compared, which get no letter and no frame: they are alike because of that."""
    side = len(maps[0])
    cosines = neighbourhood_cosines(maps, mean)
    best = np.stack([cosines.argmax(axis=1), cosines.argmax(axis=0)])
    similarity = np.stack([cosines.max(axis=1), cosines.max(axis=0)]).astype(np.float64)
    framing = cosines
    if filled is not None:
        framing = np.where(filled[0][:, np.newaxis] | filled[1], -1.0, cosines).astype(np.float32)
        shape = (side, side)
        weights = (
            np.where(filled[0].reshape(shape), weights[0].min(), weights[0]),
            np.where(filled[1].reshape(shape), weights[1].min(), weights[1]),
        )
        flat = filled if flat is None else (flat[0] | filled[0], flat[1] | filled[1])
    frames = strongest_windows(weights, framing.reshape(side, side, side, side))
    found = MatchedImages(side, frames, (), best, similarity)
    framed = [found.in_frame(image) for image in (0, 1)]
    if flat is not None:
        framed = [places & ~empty for places, empty in zip(framed, flat, strict=True)]
    inside = np.outer(framed[0], framed[1])
    strength = np.where(inside, cosines, -np.inf)
    rows, columns = np.divmod(np.arange(side * side), side)
    pairs: list[tuple[float, int, int]] = []
    while len(pairs) < len(LETTERS) and np.isfinite(strength.max()):
        q, x = (int(place) for place in np.unravel_index(strength.argmax(), strength.shape))
        pairs.append((float(cosines[q, x]), q, x))
        for axis, place in ((0, q), (1, x)):
            near = (np.abs(rows - rows[place]) < APART) & (np.abs(columns - columns[place]) < APART)
            strength[(near, slice(None)) if axis == 0 else (slice(None), near)] = -np.inf
    named = tuple(
        PlacePair(letter, q, x, cosine) for letter, (cosine, q, x) in zip(LETTERS, pairs, strict=False)
    )
    return MatchedImages(side, frames, named, best, similarity)


def neighbourhood_cosines(maps: tuple[Floats, Floats], mean: Floats | None) -> Floats:
    """(p, p) the cosine of each place of the first image with each of the second, the mean over both and their eight
    neighbours: a place alone sees little of what it belongs to."""
    side = len(maps[0])
    centre = (
        np.concatenate([one.reshape(-1, one.shape[-1]) for one in maps]).mean(axis=0)
        if mean is None
        else mean
    )
    cosines = np.einsum("abk,cdk->abcd", *(unit_rows(one - centre) for one in maps), optimize=True)
    padded = np.pad(cosines, 1, mode="edge")
    mean_of = sum(
        padded[down : down + side, right : right + side, down : down + side, right : right + side]
        for down in range(3)
        for right in range(3)
    )
    return np.asarray(mean_of, dtype=np.float32).reshape(side * side, side * side) / np.float32(9.0)


def strongest_windows(
    weights: tuple[Matrix, Matrix], cosines: Floats
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The upper left places (row, column) of a square of both images. They have the largest sum of three numbers, each
    in standard deviations over all squares: the ``weights`` (side, side) of both squares, and :data:`MATCHING` times
    how well they match, the mean of the best ``cosines`` (side, side, side, side) of the places of each in the other.
    """
    windows = np.lib.stride_tricks.sliding_window_view
    size = (FRAME, FRAME)
    to_case = windows(windows(cosines, size, axis=(2, 3)).max(axis=(4, 5)), size, axis=(0, 1)).mean(
        axis=(4, 5)
    )
    to_query = windows(windows(cosines, size, axis=(0, 1)).max(axis=(4, 5)), size, axis=(2, 3)).mean(
        axis=(4, 5)
    )
    match = to_case + to_query
    query, case = (windows(one, size).mean(axis=(2, 3)) for one in weights)
    score = _standard(query)[:, :, np.newaxis, np.newaxis] + _standard(case) + MATCHING * _standard(match)
    row, column, of_case, across = (int(at) for at in np.unravel_index(score.argmax(), score.shape))
    return (row, column), (of_case, across)


def _standard(values: npt.NDArray[np.floating]) -> Matrix:
    return np.asarray((values - values.mean()) / (float(values.std()) or 1.0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Occlusion:
    """``map`` (side, side): how much the similarity falls on average while a place is hidden; ``usual``: how much while
    any square is."""

    map: Matrix
    usual: float


Similarity = Callable[[Sequence[npt.NDArray[np.uint8]]], Matrix]


def occlusion(pixels: npt.NDArray[np.uint8], side: int, similarity: Similarity) -> Occlusion:
    """How much the places of an image matter: squares of it are hidden in turn.

    ``pixels`` (h, w, 3) as the encoder is shown them; ``similarity`` of n images gives (n,).
    """
    last = side - FRAME
    starts = [(row, column) for row in range(0, last + 1, STEP) for column in range(0, last + 1, STEP)]
    masks = np.stack([square(side, start) for start in starts])
    values = similarity([pixels, *hidden(pixels, masks)])
    falls = values[0] - values[1:]
    counts = np.maximum(masks.sum(axis=0), 1.0)
    by_place = np.einsum("n,nrc->rc", falls, masks.astype(np.float64)) / counts
    return Occlusion(by_place, float(falls.mean()))


def square(side: int, start: tuple[int, int]) -> Floats:
    """(side, side) 1 in the square of places whose upper left one is ``start`` (row, column), else 0."""
    mask = np.zeros((side, side), dtype=np.float32)
    mask[start[0] : start[0] + FRAME, start[1] : start[1] + FRAME] = 1.0
    return mask


def hidden(pixels: npt.NDArray[np.uint8], masks: Floats, blur: float = _BLUR) -> list[npt.NDArray[np.uint8]]:
    """``pixels`` (h, w, 3) blurred in the places of each of ``masks`` (n, side, side), with soft edges."""
    from scipy.ndimage import gaussian_filter, zoom

    height, width = pixels.shape[:2]
    sigma = blur * height
    blurred = np.stack(
        [gaussian_filter(pixels[:, :, k].astype(np.float32), sigma, mode="nearest") for k in range(3)], axis=2
    )
    found = []
    for mask in masks:
        wide = zoom(
            mask, (height / len(mask), width / len(mask)), order=0, grid_mode=True, mode="grid-constant"
        )
        soft = gaussian_filter(wide, _SOFT * height, mode="nearest")[:, :, np.newaxis]
        found.append(np.rint(pixels * (1.0 - soft) + blurred * soft).astype(np.uint8))
    return found
