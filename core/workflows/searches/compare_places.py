"""The places that make a query and a ranked case alike, and the exact shares of all places in their distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.features.encoder.efficientnet import LEVEL_WIDTH, PLACE_BLOCK, WIDTH, level_map
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.places import Floats, PlaceGrid
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.retrieval.explanation.place_pairs import MatchedImages, PlacePair, match_images, occlusion
from semblance.core.retrieval.explanation.place_shares import (
    FEATURE_MAPS,
    LEVEL_MAPS,
    agreeing_by_place,
    features_by_place,
    levels_by_place,
    shares_by_place,
)
from semblance.core.retrieval.explanation.place_words import MeasuredGrey, sentence_of_places
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.explain_distance import ExplanationContext

#: Features read from the image again differ from those of the library by less than this, as a share of their length,
#: unless the image or the encoder is another.
SAME = 1e-3

_MAP = level_map(PLACE_BLOCK)


@dataclass(frozen=True, eq=False)
class PlaceComparison:
    """What is alike in a query and a case, in places.

    ``grids``: where the places of the query and of the case lie. ``shares`` (2, p): the share of each place of the query
    and of the case in the ``distance``, of which those of either image are the sum; ``None`` where there are none, with
    the reason in ``note``. ``agreeing`` (2, p): in the weight of the bits on which both agree.
    """

    grids: tuple[PlaceGrid, PlaceGrid]
    matched: MatchedImages
    sentence: str
    shares: Matrix | None = None
    distance: float = 0.0
    agreeing: Matrix | None = None
    note: str = ""

    def pair_of(self, image: int, place: int) -> PlacePair:
        """The pair of ``place`` of the query (``image`` 0) or of the case (1) with its best match in the other; it has a
        letter if it is one of the strongest."""
        partner = int(self.matched.partners[image, place])
        query, case = (place, partner) if image == 0 else (partner, place)
        for pair in self.matched.pairs:
            if (pair.query, pair.case)[image] == place:
                return pair
        return PlacePair("", query, case, float(self.matched.similarity[image, place]))

    def share_of(self, pair: PlacePair) -> float:
        """The share of a pair in the distance: the mean of those of its places."""
        assert self.shares is not None
        return float(self.shares[0, pair.query] + self.shares[1, pair.case]) / 2.0

    def parts(self) -> list[tuple[str, float]]:
        """The distance by place: each pair by its letter, ``"frames"`` for the other places of the frames, and
        ``"others"``. They sum to the distance."""
        if self.shares is None:
            return []
        found = [(pair.letter, self.share_of(pair)) for pair in self.matched.pairs]
        framed = sum(float(self.shares[image, self.matched.in_frame(image)].sum()) for image in (0, 1)) / 2.0
        found.append(("frames", framed - sum(amount for _, amount in found)))
        found.append(("others", self.distance - sum(amount for _, amount in found)))
        return found


def has_places(numbers: int) -> bool:
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
) -> PlaceComparison:
    """Compare the places of the query and of the case. ``images``: both with the measured region; ``rows`` (2, d): their
    features in the library; ``mean`` (c,): the mean place of the library, if it is known.

    Raises:
        BadInput: an image that the encoder cannot measure.
    """
    prepared = [extractor.prepare(image, region) for image, region in images]
    is_levels = rows.shape[1] == LEVEL_WIDTH
    names = LEVEL_MAPS if is_levels else (*FEATURE_MAPS, _MAP)
    maps = extractor.maps(prepared, names)
    by_place = [levels_by_place(one) if is_levels else features_by_place(one) for one in maps]
    again = np.stack([one.sum(axis=0) for one in by_place])
    reporter.check_cancelled()
    weights = [
        occlusion(prepared[own], maps[own][_MAP].shape[-1], _similarity_to(extractor, again[1 - own]))
        for own in (0, 1)
    ]
    reporter.check_cancelled()
    grids = tuple(extractor.place_grid(image.height, image.width, region) for image, region in images)
    described = (maps[0][_MAP].transpose(1, 2, 0), maps[1][_MAP].transpose(1, 2, 0))
    matched = match_images(described, mean, (weights[0], weights[1]))
    metric = context.grouping.metric
    apart = np.linalg.norm(again - rows, axis=1) / np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    found = shares_by_place(metric, *by_place) if (apart < SAME).all() else None
    grey = [MeasuredGrey(one, matched.side) for one in prepared]
    pairs = [(pair.letter, pair.query, pair.case) for pair in matched.pairs]
    if found is None:
        note = tr_lazy("The metric has no exact shares by place.")
        if not (apart < SAME).all():
            note = tr_lazy(
                "The shares are not known: the features in the library were measured on another slice, several slices, "
                "or another version of the image."
            )
        return PlaceComparison((grids[0], grids[1]), matched, sentence_of_places(*grey, pairs, None), note=note)
    shares = np.stack(found[:2])
    agreeing = agreeing_by_place(metric, *by_place)
    by_position = shares.mean(axis=0).reshape(matched.side, matched.side)
    return PlaceComparison(
        (grids[0], grids[1]),
        matched,
        sentence_of_places(*grey, pairs, by_position),
        shares,
        found[2],
        None if agreeing is None else np.stack(agreeing),
    )


def _similarity_to(
    extractor: Encoder, other: Matrix
) -> Callable[[Sequence[npt.NDArray[np.uint8]]], Matrix]:
    """The cosine of images as the encoder is shown them with the features ``other`` (d,)."""
    unit = other / max(float(np.linalg.norm(other)), 1e-12)

    def similarity(images: Sequence[npt.NDArray[np.uint8]]) -> Matrix:
        found = extractor.describe(list(images))
        rows = (found.levels if len(other) == LEVEL_WIDTH else found.features).astype(np.float64)
        return np.asarray(rows @ unit / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))

    return similarity

