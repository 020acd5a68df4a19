"""The places that make a query and a ranked case alike, and the exact shares of all places in their distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.features.encoder.efficientnet import LEVEL_WIDTH, PLACE_BLOCK, WIDTH, level_map
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.places import Floats, PlaceGrid
from semblance.core.features.registry import make_extractor
from semblance.core.imaging.burnt_in_marks import BurntInMarks, without_marks
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Box, Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.metrics.distance import Matrix
from semblance.core.retrieval.explanation.place_pairs import (
    APART,
    LETTERS,
    MatchedImages,
    hidden,
    match_images,
    occlusion,
)
from semblance.core.retrieval.explanation.place_shares import (
    FEATURE_MAPS,
    LEVEL_MAPS,
    agreeing_by_place,
    features_by_place,
    levels_by_place,
    shares_by_place,
)
from semblance.core.retrieval.explanation.place_words import MeasuredGrey, sentence_of_places
from semblance.core.searches.search import BOTH, Search
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.explain_distance import ExplanationContext
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.place_search import place_search, resolved_match

#: Names of the parts of a distance that have no letter.
IN_FRAMES, ELSEWHERE, OTHER_PLACES = (
    tr_lazy("Rest of frames"),
    tr_lazy("Outside frames"),
    tr_lazy("Other places"),
)
#: Features read from the image again differ from those of the library by less than this, as a share of their length,
#: unless the image or the encoder is another.
SAME = 1e-3
#: A frame whose hiding lowers the similarity by less does not stand out.
LEAST_FALL = 0.005

#: The share of a place that annotations may cover. A caliper on a lesion covers less, a line of text more.
MOST_FILLED = 0.1

_MAP = level_map(PLACE_BLOCK)


@dataclass(frozen=True)
class PlaceMatch:
    """A place of the query and the place of the case that matches it, each a rectangle in pixels of its image, with the
    cosine of both and their ``share`` in the whole (``None``: not known). ``letter``: empty if it is none of the
    strongest."""

    letter: str
    boxes: tuple[Box, Box]
    similarity: float
    share: float | None = None


@dataclass(frozen=True, eq=False)
class ComparedPlaces:
    """What is alike in a query and a case, in places.

    ``frames``: the part of each image that matters most, or that was searched with and found, in pixels; ``None`` where
    whole images were searched with by place. ``pairs``: the strongest pairs of places. ``parts`` by name sum to
    ``total``, the distance, or with ``is_similarity`` the mean similarity; they are empty where there are no exact
    shares, with the reason in ``note``. ``details``: what else is known of a part, by its name.
    """

    frames: tuple[Box, Box] | None
    pairs: tuple[PlaceMatch, ...]
    sentence: str
    summary: str
    grids: tuple[PlaceGrid, PlaceGrid]
    #: (2, p) the best match of each place of the query and of the case in the other, -1 for none, its cosine, and the
    #: share of each place.
    partners: npt.NDArray[np.intp]
    similarity: Matrix
    shares: Matrix | None = None
    parts: tuple[tuple[str, float], ...] = ()
    total: float = 0.0
    is_similarity: bool = False
    details: tuple[tuple[str, str], ...] = ()
    note: str = ""

    def pair_at(self, image: int, x: float, y: float) -> PlaceMatch | None:
        """The pair of the place at a pixel of the query (``image`` 0) or of the case (1), ``None`` where none is."""
        grid = self.grids[image]
        left, top, right, bottom = grid.box
        column = math.floor((x - left) / max(right - left, 1e-9) * grid.columns)
        row = math.floor((y - top) / max(bottom - top, 1e-9) * grid.rows)
        if not (0 <= row < grid.rows and 0 <= column < grid.columns):
            return None
        place = row * grid.columns + column
        partner = int(self.partners[image, place])
        if partner < 0:
            return None
        boxes = (grid.place_box(place), self.grids[1 - image].place_box(partner))
        boxes = boxes if image == 0 else (boxes[1], boxes[0])
        named = next((pair for pair in self.pairs if pair.boxes == boxes), None)
        return named or PlaceMatch(
            "",
            boxes,
            float(self.similarity[image, place]),
            _share(self.shares, *((place, partner) if image == 0 else (partner, place))),
        )


def _share(shares: Matrix | None, query: int, case: int) -> float | None:
    """The share of a pair of places: the mean of those of both."""
    return None if shares is None else float(shares[0, query] + shares[1, case]) / 2.0


def is_explained_by_place(numbers: int) -> bool:
    """Whether so many numbers of the encoder are explained by place: its averages or its levels."""
    return numbers in (WIDTH, LEVEL_WIDTH)


def compare_places(
    context: ExplanationContext,
    extractor: Encoder,
    images: Sequence[tuple[Image, Region | None]],
    rows: Matrix,
    mean: Floats | None = None,
    *,
    reporter: Reporter = SILENT,
) -> ComparedPlaces:
    """Compare the places of the query and of the case. ``images``: both with the measured region; ``rows`` (2, d):
    their features in the library; ``mean`` (c,): the mean place of the library, if it is known.

    Raises:
        BadInput: an image that the encoder cannot measure.
    """
    marks = [extractor.marks_in(image) for image, _ in images]
    prepared = [
        extractor.prepare(without_marks(image, found), region)
        for (image, region), found in zip(images, marks, strict=True)
    ]
    is_levels = rows.shape[1] == LEVEL_WIDTH
    names = LEVEL_MAPS if is_levels else (*FEATURE_MAPS, _MAP)
    maps = extractor.maps(prepared, names)
    by_place = [levels_by_place(one) if is_levels else features_by_place(one) for one in maps]
    again = np.stack([one.sum(axis=0) for one in by_place])
    reporter.check_cancelled()
    side = maps[0][_MAP].shape[-1]
    similarities = [_similarity_to(extractor, again[1 - own]) for own in (0, 1)]
    occluded = [occlusion(prepared[own], side, similarities[own]) for own in (0, 1)]
    reporter.check_cancelled()
    boxes = [extractor.place_grid(image.height, image.width, region) for image, region in images]
    described = (maps[0][_MAP].transpose(1, 2, 0), maps[1][_MAP].transpose(1, 2, 0))
    grey = [MeasuredGrey(one, side) for one in prepared]
    flat = [np.array([one.is_flat(place) for place in range(side * side)]) for one in grey]
    filled = [_filled_places(found, grid) for found, grid in zip(marks, boxes, strict=True)]
    matched = match_images(
        described, mean, (occluded[0].map, occluded[1].map), (flat[0], flat[1]), (filled[0], filled[1])
    )
    metric = context.grouping.metric
    apart = np.linalg.norm(again - rows, axis=1) / np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    is_same = bool((apart < SAME).all())
    found = shares_by_place(metric, *by_place) if is_same else None
    shares = None if found is None else np.stack(found[:2])
    pairs = [(pair.letter, pair.query, pair.case) for pair in matched.pairs]
    by_position = None if shares is None else shares.mean(axis=0).reshape(matched.side, matched.side)
    framed = [matched.in_frame(image) for image in (0, 1)]
    falls = []
    for own in (0, 1):
        without = hidden(prepared[own], framed[own].reshape(1, side, side).astype(np.float32))
        before, after = similarities[own]([prepared[own], *without]).tolist()
        falls.append(before - after)
    fall, usual = sum(falls) / 2.0, max(0.0, (occluded[0].usual + occluded[1].usual) / 2.0)
    if fall <= LEAST_FALL or fall <= usual:
        summary = tr_lazy("No part stands out: while a frame is hidden, the similarity hardly falls.")
    else:
        summary = tr_lazy(
            "Framed: what the two have most in common. While a frame is hidden, their similarity falls by {fall:.3f}, "
            "while another square of this size is, by {usual:.3f}.",
            fall=fall,
            usual=usual,
        )
    note = ""
    if not is_same:
        note = tr_lazy(
            "The shares are not known: the features in the library were measured on another slice, several slices, or "
            "another version of the image."
        )
    elif shares is None:
        note = tr_lazy("This metric compares cases in a way in which places have no exact shares.")
    agreeing = agreeing_by_place(metric, *by_place) if is_same else None
    return ComparedPlaces(
        (_frame(boxes[0], framed[0]), _frame(boxes[1], framed[1])),
        tuple(
            PlaceMatch(
                pair.letter,
                (boxes[0].place_box(pair.query), boxes[1].place_box(pair.case)),
                pair.similarity,
                _share(shares, pair.query, pair.case),
            )
            for pair in matched.pairs
        ),
        sentence_of_places(grey[0], grey[1], pairs, by_position),
        summary,
        (boxes[0], boxes[1]),
        matched.partners,
        matched.similarity,
        shares,
        () if found is None or shares is None else tuple(_by_part(matched, shares, found[2])),
        0.0 if found is None else found[2],
        details=() if agreeing is None else _agreeing_details(matched, np.stack(agreeing)),
        note=note,
    )


def _filled_places(marks: BurntInMarks | None, grid: PlaceGrid) -> npt.NDArray[np.bool_]:
    """(p,) the places with ``marks``, which are filled in before the encoder looks, and those beside them, which see
    the filling too."""
    filled = np.zeros(grid.rows * grid.columns, dtype=np.bool_)
    if marks is None:
        return filled
    for place in range(len(filled)):
        left, top, right, bottom = (round(edge) for edge in grid.place_box(place))
        inside = marks.mask[max(0, top) : bottom, max(0, left) : right]
        filled[place] = inside.size > 0 and inside.mean() > MOST_FILLED
    near = np.lib.stride_tricks.sliding_window_view(
        np.pad(filled.reshape(grid.rows, grid.columns), 1), (3, 3)
    )
    return np.asarray(near.any(axis=(2, 3)).reshape(-1))


def _frame(grid: PlaceGrid, inside: npt.NDArray[np.bool_]) -> Box:
    """The rectangle of the places ``inside`` (p,)."""
    first, *_, last = (grid.place_box(int(place)) for place in np.flatnonzero(inside))
    return first[0], first[1], last[2], last[3]


def _by_part(matched: MatchedImages, values: Matrix, total: float) -> list[tuple[str, float]]:
    """``values`` (2, p) of the places of both images, of which those of either sum to ``total``, by part: the pairs by
    letter, the other places of the frames, and all others."""
    found = [
        (pair.letter, float(values[0, pair.query] + values[1, pair.case]) / 2.0) for pair in matched.pairs
    ]
    framed = sum(float(values[image, matched.in_frame(image)].sum()) for image in (0, 1)) / 2.0
    found.append((IN_FRAMES, framed - math.fsum(amount for _, amount in found)))
    found.append((ELSEWHERE, total - math.fsum(amount for _, amount in found)))
    return found


def _agreeing_details(matched: MatchedImages, agreeing: Matrix) -> tuple[tuple[str, str], ...]:
    """Of each part the share in the weight of the bits on which both agree."""
    total = float(agreeing.sum(axis=1).mean())
    return tuple(
        (
            name,
            tr_lazy(
                "Decides {amount:.2f} of the weight {total:.2f} of the bits that agree",
                amount=amount,
                total=total,
            ),
        )
        for name, amount in _by_part(matched, agreeing, total)
    )


def _similarity_to(extractor: Encoder, other: Matrix) -> Callable[[Sequence[npt.NDArray[np.uint8]]], Matrix]:
    """The cosine of images as the encoder is shown them with the features ``other`` (d,)."""
    unit = other / max(float(np.linalg.norm(other)), 1e-12)

    def similarity(images: Sequence[npt.NDArray[np.uint8]]) -> Matrix:
        found = extractor.describe(list(images))
        rows = found.features if found.levels is None or len(other) != LEVEL_WIDTH else found.levels
        rows = rows.astype(np.float64)
        return np.asarray(rows @ unit / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))

    return similarity


def compare_found_places(
    loaded: LoadedMetric,
    search: Search,
    case: str,
    images: Sequence[Image],
    place: MatchedPlace | None,
    *,
    reporter: Reporter = SILENT,
) -> ComparedPlaces:
    """What a search by place found in ``case``: the best match there of each place of the query. ``images``: the whole
    image of the query and of the case; ``place``: the rectangle found, ``None`` for a whole image.

    The share of a place of the query is its weight times the cosine of its best match: they sum to the similarity.

    Raises:
        BadInput: the library has no places, the image of the query cannot be read, or the region lies outside.
    """
    found = place_search(loaded, search.query, reporter)
    query, stored = found.query, found.stored
    rows = found.comparison.index_rows(loaded.positions_of_cases([case]))
    matches = stored.index.best_matches(query.compared, rows)
    partner, cosines, weights = matches.places[0], matches.cosines[0], query.compared.weights
    grids = query.grid, found.grid_of(images[1].height, images[1].width)
    places = len(query.grid)
    partners, similarity = np.full((2, places), -1, dtype=np.intp), np.zeros((2, places))
    partners[0, query.numbers], similarity[0, query.numbers] = partner, cosines
    shares = np.zeros((2, places))
    shares[0, query.numbers] = weights * cosines
    # The place of the case that several places of the query match: the best of them is shown.
    for at in np.argsort(cosines):
        partners[1, partner[at]], similarity[1, partner[at]] = query.numbers[at], cosines[at]
        shares[1, partner[at]] = shares[0, query.numbers[at]]
    chosen = _apart(query.grid, query.numbers, partner, weights * cosines)
    pairs = tuple(
        PlaceMatch(
            letter,
            (grids[0].place_box(int(query.numbers[at])), grids[1].place_box(int(partner[at]))),
            float(cosines[at]),
            float(weights[at] * cosines[at]),
        )
        for letter, at in zip(LETTERS, chosen, strict=False)
    )
    lettered = [(pair.letter, pair.share or 0.0) for pair in pairs]
    total = float(weights @ cosines)
    extractor = make_extractor(stored.feature_set.extractor, **stored.feature_set.extractor_settings)
    grey = [MeasuredGrey(extractor.prepare(image), query.grid.rows) for image in images]
    words = [
        (pair.letter, int(query.numbers[at]), int(partner[at]))
        for pair, at in zip(pairs, chosen, strict=True)
    ]
    summary = (
        tr_lazy_n(
            "{n} place of the region, similarity {mean:.2f}",
            "{n} places of the region, mean {mean:.2f}",
            len(query.numbers),
            mean=total,
        )
        if not query.is_all
        else tr_lazy("{n} places of the image, mean {mean:.2f}", n=len(query.numbers), mean=total)
    )
    if resolved_match(loaded, search) == BOTH:
        summary = tr_lazy("{summary}. The distance counts the whole images too.", summary=summary)
    if search.query.slices:
        summary = tr_lazy("{summary}. The distance counts all slices.", summary=summary)
    region = search.query.region
    return ComparedPlaces(
        None if place is None else (query.grid.box if region is None else region.box, place.box),
        pairs,
        sentence_of_places(grey[0], grey[1], words, None),
        summary,
        grids,
        partners,
        similarity,
        shares,
        (*lettered, (OTHER_PLACES, total - math.fsum(amount for _, amount in lettered))),
        total,
        is_similarity=True,
    )


def _apart(
    grid: PlaceGrid, numbers: npt.NDArray[np.integer], partner: npt.NDArray[np.intp], strength: Matrix
) -> list[int]:
    """The strongest places of the query, in order, none beside another and none with a match of another."""
    chosen: list[int] = []
    for at in np.argsort(-strength, kind="stable").tolist():
        row, column = divmod(int(numbers[at]), grid.columns)
        is_near = any(
            max(abs(row - int(numbers[one]) // grid.columns), abs(column - int(numbers[one]) % grid.columns))
            < APART
            or partner[one] == partner[at]
            for one in chosen
        )
        if not is_near:
            chosen.append(at)
        if len(chosen) == len(LETTERS):
            break
    return chosen
