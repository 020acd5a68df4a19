"""A query and a ranked case side by side: their images, with the regions in which they agree, and their features."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.places import PLACES
from semblance.core.features.registry import stored_extractor
from semblance.core.imaging import ImageAddress, open_image
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Box, Region
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.metrics.distance import Matrix
from semblance.core.retrieval.explanation.matching_places import ImageFeatures, ImagePlaces, places_of
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.stored_places import coding_of
from semblance.core.workflows.searches.compare_places import (
    ComparedPlaces,
    compare_found_places,
    compare_places,
    is_explained_by_place,
)
from semblance.core.workflows.searches.explain_distance import ExplanationContext
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import open_search_metric
from semblance.core.workflows.searches.query_features import case_features, query_features

#: Longest side of the images, pixels, and the margin shown around a region, as a share of its longer side.
SIDE, AROUND = 320, 0.35

#: Cases of which mean and standard deviation are computed, at most, and where a loaded metric caches them.
SAMPLE = 2000


@dataclass(frozen=True, eq=False)
class ComparedImage:
    """One of the two images, (h, w) grey or (h, w, 3) RGB uint8 around the compared region, or why there is none.

    ``rings``: (x, y, radius), in shares of the width (y of the height); those at the same position in both images
    correspond. ``outline``: (x, y) points of the measured region.
    """

    pixels: npt.NDArray[np.uint8] | None = None
    rings: tuple[tuple[float, float, float], ...] = ()
    outline: tuple[tuple[float, float], ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False)
class ImageComparison:
    """Both images, and a text that explains the rings and outlines on them. ``places``: what is alike in places, of the
    features of the encoder; ``shown``: the parts of the images that ``pixels`` show, in pixels of the images."""

    query: ComparedImage
    case: ComparedImage
    note: str
    places: ComparedPlaces | None = None
    shown: tuple[Box, Box] | None = None


@dataclass(frozen=True, eq=False)
class _OpenedImage:
    """An image, its compared region, and the larger region that is shown."""

    image: Image
    region: Region | None

    @property
    def compared(self) -> Region:
        whole = Region(0, 0, self.image.width, self.image.height)
        return whole if self.region is None else self.region.clipped(self.image.height, self.image.width)

    @property
    def shown(self) -> Region:
        box, image = self.compared, self.image
        around = round(AROUND * max(box.width, box.height)) if self.region is not None else 0
        wide = Region(box.x - around, box.y - around, box.width + 2 * around, box.height + 2 * around)
        return wide.clipped(image.height, image.width)

    def pixels(self) -> npt.NDArray[np.uint8]:
        from PIL import Image as PILImage

        data = thumbnail(self.image.cropped(self.shown), SIDE)
        with PILImage.open(io.BytesIO(data)) as opened:
            return np.asarray(opened)

    def placed(self, x: float, y: float) -> tuple[float, float]:
        """A position in pixels of the image as shares of the shown region."""
        return (x - self.shown.x) / self.shown.width, (y - self.shown.y) / self.shown.height

    def side(self, places: ImagePlaces) -> ComparedImage:
        box = self.compared
        rings = tuple(
            (
                *self.placed(box.x + x * box.width, box.y + y * box.height),
                radius * box.width / self.shown.width,
            )
            for x, y, radius in places.rings
        )
        outline = tuple(self.placed(x, y) for x, y in places.outline)
        return ComparedImage(self.pixels(), rings, outline)


def _open_case_image(loaded: LoadedMetric, query: Query) -> _OpenedImage | str:
    """The image region that the features of ``query`` were measured on, or why it cannot be shown; empty for a row of
    a table."""
    region = query.region
    if query.image is not None:
        address = ImageAddress(query.image)
    elif query.case is None:
        return tr_lazy("A vector has no image.")
    else:
        details = next(iter(loaded.library.catalogue.details([loaded.cases.row_of(query.case)]).values()))
        if details.address is None:
            return ""
        address, region = details.address, region or details.region
    try:
        return _OpenedImage(open_image(address, region), region)
    except SemblanceError as error:
        return error.message


def compare_images(
    library: LibraryLocation,
    search: Search,
    case: str,
    *,
    place: MatchedPlace | None = None,
    by_place: bool = False,
    reporter: Reporter = SILENT,
) -> ImageComparison:
    """The images of ``search``'s query and of ``case``, with the regions in which their features agree. ``place``:
    where a search by place found the query in the case. ``by_place``: the search compared places, of whole images too.

    An image that cannot be shown is a :attr:`ComparedImage.problem`. Of the encoder the places are compared, and their
    shares are those of the distance with all judgements. For other features judgements and concepts are ignored,
    because their effect has no position in an image.

    Raises:
        BadArguments: no such metric or group of features.
        BadInput: no such case.
    """
    loaded = open_search_metric(library, search, reporter)
    if place is not None or by_place:
        return _compare_found(loaded, search, case, place, reporter)
    opened = [_open_case_image(loaded, search.query), _open_case_image(loaded, Query(case))]
    reporter.check_cancelled()
    if not all(isinstance(one, _OpenedImage) for one in opened):
        query, found = (
            ComparedImage(problem=one) if isinstance(one, str) else one.side(ImagePlaces()) for one in opened
        )
        return ImageComparison(query, found, "")
    feature_set = loaded.feature_set
    try:
        extractor = stored_extractor(feature_set.extractor, feature_set.package)(
            **feature_set.extractor_settings
        )
    except SemblanceError as error:
        # The file of the encoder is missing; the images are shown without regions.
        query, found = (one.side(ImagePlaces()) for one in opened if isinstance(one, _OpenedImage))
        return ImageComparison(
            query, found, tr_lazy("No matching places can be shown. {message}", message=error.message)
        )
    if isinstance(extractor, Encoder) and is_explained_by_place(len(feature_set.columns)):
        context = ExplanationContext.of(library, search, reporter)
        pair = [one for one in opened if isinstance(one, _OpenedImage)]
        rows = np.stack([context.numbers(), case_features(loaded, case, feature_set)])
        images = [(one.image, one.region) for one in pair]
        places = compare_places(context, extractor, images, rows, _mean_place(loaded), reporter=reporter)
        query, found = (one.side(ImagePlaces()) for one in pair)
        return ImageComparison(query, found, "", places, (pair[0].shown.box, pair[1].shown.box))
    context = ExplanationContext.of(library, replace(search, ledger="", concepts=()), reporter)
    numbers = [context.numbers(), case_features(loaded, case, loaded.feature_set)]
    features = [
        ImageFeatures(one.image, one.region, row)
        for one, row in zip(opened, numbers, strict=True)
        if isinstance(one, _OpenedImage)
    ]
    where = places_of(extractor, context.grouping, features[0], features[1], context.sample_rows())
    query, found = (
        one.side(side)
        for one, side in zip(opened, (where.query, where.case), strict=True)
        if isinstance(one, _OpenedImage)
    )
    return ImageComparison(query, found, where.note)


def _mean_place(loaded: LoadedMetric) -> npt.NDArray[np.float32] | None:
    """(c,) the mean place of the library; ``None`` where it has no places."""
    features = loaded.library.features
    places = features.part(features.whole(loaded.feature_set), PLACES)
    return None if places is None else coding_of(places).mean


def _compare_found(
    loaded: LoadedMetric, search: Search, case: str, place: MatchedPlace | None, reporter: Reporter
) -> ImageComparison:
    """The images of a search by place, with the places that match. The whole images are shown."""
    # Of a volume the slice on which the query was found, not the one that represents it.
    on_slice = None if place is None or place.number is None else place.region
    found = [_open_case_image(loaded, one) for one in (search.query, Query(case, region=on_slice))]
    opened = [_OpenedImage(one.image, None) if isinstance(one, _OpenedImage) else one for one in found]
    sides = [
        ComparedImage(problem=one) if isinstance(one, str) else one.side(ImagePlaces()) for one in opened
    ]
    images = [one for one in opened if isinstance(one, _OpenedImage)]
    if len(images) < 2:
        return ImageComparison(sides[0], sides[1], "")
    places = compare_found_places(
        loaded, search, case, [one.image for one in images], place, reporter=reporter
    )
    return ImageComparison(sides[0], sides[1], "", places, (images[0].shown.box, images[1].shown.box))


@dataclass(frozen=True)
class ComparedFeature:
    """A feature of two cases: its values as extracted, and where they are among the cases of the library, in standard
    deviations from the mean. NaN where a case has no value."""

    name: str
    query: float
    case: float
    query_place: float
    case_place: float

    @property
    def difference(self) -> float:
        """How far apart the values are, in standard deviations; NaN if one is missing."""
        return abs(self.case_place - self.query_place)


def compare_features(
    library: LibraryLocation, search: Search, case: str, *, reporter: Reporter = SILENT
) -> list[ComparedFeature]:
    """The features that ``search`` ranks by, of its query and of ``case``. The largest differences come first, those
    of missing values last.

    Raises:
        BadArguments: no such metric.
        BadInput: no such case, no features for it or the query, or an image that cannot be read.
    """
    loaded = open_search_metric(library, search, reporter)
    pair = np.array([query_features(loaded, search.query), case_features(loaded, case, loaded.feature_set)])
    means, deviations = loaded.cache.or_made(_FeatureSpread, lambda: _FeatureSpread.measured(loaded))
    apart = pair - means
    # Of a feature with one value in all drawn cases, another value is as far as the farther of both.
    units = np.where(deviations > 0.0, deviations, np.fmax(*np.abs(apart)))
    places = np.divide(apart, units, out=np.where(np.isnan(apart), np.nan, 0.0), where=units > 0.0)
    names = (name for name, _ in loaded.feature_set.columns)
    found = [
        ComparedFeature(name, *values)
        for name, *values in zip(names, *pair.tolist(), *places.tolist(), strict=True)
    ]
    return sorted(found, key=lambda one: (math.isnan(one.difference), -one.difference))


class _FeatureSpread(NamedTuple):
    """(d,) means and (d,) standard deviations of the features of cases, without missing values."""

    means: Matrix
    deviations: Matrix

    @classmethod
    def measured(cls, loaded: LoadedMetric) -> _FeatureSpread:
        """That of cases drawn from the library."""
        rng = np.random.default_rng(0)
        drawn = rng.choice(loaded.rows, min(SAMPLE, len(loaded.rows)), replace=False)
        values = loaded.library.features.read(loaded.feature_set, drawn)[1].astype(np.float64)
        known = ~np.isnan(values)
        number = np.maximum(known.sum(axis=0), 1)
        means = np.where(known, values, 0.0).sum(axis=0) / number
        squares = np.where(known, (values - means) ** 2, 0.0)
        return cls(means, np.sqrt(squares.sum(axis=0) / number))
