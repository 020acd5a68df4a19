"""Search by place: the places of a query, their comparison with all cases, and where in each case they were found.

The query is a region of a case or of any image, or all places of one, which then count by how much they stand out from
the library's mean place. Places of cases are those that the library stores; another slice, or an image from outside, is
measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.features.extractor import Extractor
from semblance.core.features.places import Codes, PlaceGrid
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.records import CaseDetails
from semblance.core.retrieval.index import Matrix, Rows
from semblance.core.retrieval.place_comparison import CombinedComparison, PlaceComparison
from semblance.core.retrieval.place_index import PlaceQuery, evenly_sampled
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.retrieval.slice_index import MOST_SLICES, SliceIndex, VolumeQuery
from semblance.core.searches.query import IN_ORDER, Query
from semblance.core.searches.search import BOTH, MATCHES, PLACE, WHOLE, Search
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.describe_slices import slices_of
from semblance.core.workflows.features.library_places import LibraryPlaces, has_places, library_places
from semblance.core.workflows.metrics.train_request import PLACE_WEIGHT
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.query_features import extractor_of, file_stamp

#: Measured images and comparisons that one loaded metric caches.
_MAX_CACHED = 64

#: Why a region is compared as a whole although nobody asked for it.
NO_PLACES = tr_lazy(
    "The library has no places, so the region is compared as a whole. Research > Metric > Measure places measures them."
)


def resolved_match(loaded: LoadedMetric, search: Search, *, refined: bool = False) -> str:
    """One of PLACE, WHOLE and BOTH: what ``search`` compares; ``refined``: whether judgements on other queries refine
    the metric.

    Where the search does not say, a region is compared by place, and a whole image by both where validation chose so
    for the metric (:mod:`semblance.core.workflows.metrics.measure_places`) and nothing else changes it.

    Raises:
        BadArguments: another word.
    """
    if search.match not in MATCHES:
        raise BadArguments(
            tr_lazy("'{match}' is no way to compare.", match=search.match), "Use place, whole or both."
        )
    if search.query.vector is not None:
        if search.match in (PLACE, BOTH):
            raise BadArguments(
                "A vector is compared as a whole, not by place.",
                "Search with --match whole, or without the vector.",
            )
        return WHOLE
    if search.match:
        return search.match
    if search.query.region is not None:
        return PLACE if has_places(loaded.library, loaded.feature_set) else WHOLE
    joins = chosen_weight(loaded) > 0.0 and not (refined or search.is_shifted or search.without)
    return BOTH if joins and has_places(loaded.library, loaded.feature_set) else WHOLE


@dataclass(frozen=True, eq=False)
class QueryPlaces:
    """The places of a query: ``codes`` (p, m) of its image on ``grid``, the ``numbers`` (q,) of those that are compared
    and, in ``compared``, their descriptions and weights. ``extent``: rows and columns that they reach over.
    ``of_image``: no region was searched with."""

    codes: Codes
    grid: PlaceGrid
    numbers: Rows
    compared: PlaceQuery
    extent: tuple[int, int]
    of_image: bool = False

    @property
    def is_all(self) -> bool:
        """Whether all places of the image or slice are compared."""
        return len(self.numbers) == len(self.grid)


@dataclass(frozen=True, eq=False)
class PlaceSearch:
    """The ``query`` among the places of a library, ``stored``, and the ``comparison`` with all cases of a metric."""

    stored: LibraryPlaces
    query: QueryPlaces
    comparison: PlaceComparison

    def matched_places(self, details: Sequence[CaseDetails], positions: Rows) -> list[MatchedPlace | None]:
        """Where the query is found in each case, by its ``details`` and position; ``None`` without places, and in an
        image where the query is a whole image, which has no one place in it."""
        extractor = extractor_of(self.stored.feature_set)
        rows = self.comparison.index_rows(positions)
        there = rows >= 0
        maps = iter(self.comparison.index.maps(self.query.compared, rows[there]))
        similarities = iter(1.0 - self.comparison.distances((), positions[there]) / 2.0)
        index = self.comparison.index
        numbers = iter(
            index.slice_numbers(self.query.compared, rows[there])
            if isinstance(index, SliceIndex)
            else [None] * int(there.sum())
        )
        found: list[MatchedPlace | None] = []
        for case, known in zip(details, there.tolist(), strict=True):
            if not known:
                found.append(None)
                continue
            cosines = next(maps).reshape(self.stored.grid_rows, self.stored.grid_columns)
            number = next(numbers)
            place = _matched(extractor, case, cosines, self.query.extent, float(next(similarities)))
            if place is not None and number is not None:
                place = replace(place, slice=number + 1)
            found.append(None if self.query.of_image and place is not None and place.slice is None else place)
        return found

    def grid_of(self, height: int, width: int) -> PlaceGrid:
        """Where the places lie on an image of this size."""
        return _grid(extractor_of(self.stored.feature_set), height, width)


def place_search(
    loaded: LoadedMetric, query: Query, reporter: Reporter = SILENT, candidates: int | None = None
) -> PlaceSearch:
    """The comparison of ``query`` by place with the cases of ``loaded``, kept for the next search with it;
    ``candidates`` as in :class:`semblance.core.searches.search.Search`.

    Raises:
        BadInput: the library has no places, the query's image cannot be read, or the region lies outside.
    """
    stored = library_places(loaded.library, loaded.feature_set, reporter)
    cached = loaded.cache.or_made(_Searches, _Searches)
    key = (query, file_stamp(query.image), candidates)
    found = cached.pop(key, None)
    if found is None or found.stored is not stored:
        rows = np.searchsorted(stored.rows, loaded.rows)
        rows[rows == len(stored.rows)] = 0
        rows[stored.rows[rows] != loaded.rows] = -1
        places = query_places(loaded, stored, query)
        if query.slices:
            places, rows = _by_slices(loaded, stored, query, places, rows, reporter)
        index = stored.index if candidates is None else stored.index.with_candidates(candidates)
        found = PlaceSearch(stored, places, PlaceComparison(index, places.compared, rows))
    cached[key] = found
    while len(cached) > _MAX_CACHED:
        cached.pop(next(iter(cached)))
    return found


def _by_slices(
    loaded: LoadedMetric,
    stored: LibraryPlaces,
    query: Query,
    places: QueryPlaces,
    rows: Rows,
    reporter: Reporter,
) -> tuple[QueryPlaces, Rows]:
    """The ``places`` of the slice shown of a volume with all its slices, and the ``rows`` (n,) of cases in the index
    where only volumes with described slices are left.

    Raises:
        BadInput: no case has slices, or those of the query cannot be read.
    """
    index, number = stored.index, None if query.region is None else query.region.z
    if not isinstance(index, SliceIndex) or number is None:
        raise BadInput(
            "The slices of the volumes are not described.",
            "Describe them: Research > Metric > Measure places, or search with a slice.",
        )
    volume = None
    if query.case is not None:
        at = int(np.searchsorted(stored.rows, loaded.cases.row_of(query.case)))
        if at < len(stored.rows) and stored.rows[at] == loaded.cases.row_of(query.case):
            volume = index.volume_of(at)
    if volume is not None:
        start, end = index.slices.starts[volume : volume + 2].tolist()
        numbers, wholes = index.slices.numbers[start:end], index.slices.wholes_of(volume)
    else:
        numbers, wholes = _measured_slices(loaded, stored, query, reporter)
    some = evenly_sampled(np.arange(len(numbers)), MOST_SLICES)
    found = VolumeQuery(
        places.compared.places,
        places.compared.weights,
        wholes[some],
        int(np.abs(numbers[some] - number).argmin()),
        query.slices == IN_ORDER,
    )
    there = (rows >= 0) & index.has_slices[rows]
    return replace(places, compared=found), np.where(there, rows, -1)


def _measured_slices(
    loaded: LoadedMetric, stored: LibraryPlaces, query: Query, reporter: Reporter
) -> tuple[Rows, Codes]:
    """(s,) the numbers of some slices of a volume that the library does not describe, and (s, w) them as wholes."""
    measured = loaded.cache.or_made(_MeasuredVolumes, _MeasuredVolumes)
    key = (query.case, query.image, file_stamp(query.image))
    if key not in measured:
        measured.clear()
        address = None if query.image is None else ImageAddress(query.image)
        if address is None:
            row = loaded.cases.row_of(query.case or "")
            address = loaded.details([row])[row].address
            # The places of the slice shown were read from it.
            assert address is not None
        with ImageReader() as reader, reader.stack(address) as stack:
            found, _ = slices_of(
                stack, extractor_of(stored.feature_set), stored.coding, reporter, most=MOST_SLICES
            )
        measured[key] = found.slices.astype(np.int64), found.wholes
    return measured[key]


def combined_comparison(
    loaded: LoadedMetric, search: Search, embedded: EmbeddedQuery, found: PlaceSearch
) -> CombinedComparison:
    """The comparison by place and by the metric together; ``embedded``: the query under the metric."""
    known = loaded.cache.or_made(_Combined, _Combined)
    if known.get(search.candidates, (None, None))[0] is not found.comparison:
        combined = CombinedComparison(
            found.comparison,
            loaded.search_index(search.candidates),
            embedded.embedded,
            embedded.tie_break,
            place_weight(loaded),
        )
        known.clear()
        known[search.candidates] = found.comparison, combined
    return known[search.candidates][1]


def chosen_weight(loaded: LoadedMetric) -> float:
    """The weight of places beside the metric that was chosen by validation, from its card; 0 where places do not join
    its distance."""
    weight = loaded.record.card.get(PLACE_WEIGHT)
    return min(1.0, max(0.0, float(weight))) if isinstance(weight, int | float) else 0.0


def place_weight(loaded: LoadedMetric) -> float:
    """The weight of places where both are compared: the chosen one, or one half."""
    return chosen_weight(loaded) or 0.5


def metric_query(loaded: LoadedMetric, query: Query) -> Query:
    """What the metric sees of ``query`` beside its places: the image that a region lies on, unless the cases are
    regions too."""
    return query if loaded.with_regions else replace(query, region=None)


def query_places(loaded: LoadedMetric, stored: LibraryPlaces, query: Query) -> QueryPlaces:
    """The places of ``query``.

    Raises:
        BadInput: no such case or image, it cannot be read, or the region lies outside.
    """
    codes, grid, size = image_places(loaded, stored, query)
    region = query.region
    if region is None or region.covers(*size):
        every = np.arange(len(codes), dtype=np.int64)
        extent = grid.rows, grid.columns
        return QueryPlaces(codes, grid, every, whole_image_query(codes), extent, of_image=region is None)
    inside = grid.places_in(region.clipped(*size)).astype(np.int64)
    down, across = np.divmod(inside, grid.columns)
    extent = int(np.ptp(down)) + 1, int(np.ptp(across)) + 1
    numbers = evenly_sampled(inside)
    return QueryPlaces(codes, grid, numbers, PlaceQuery.of(codes[numbers]), extent)


def whole_image_query(codes: Codes) -> PlaceQuery:
    """All places of an image or slice (p, m), each by how much it stands out: how far it is from the mean one."""
    return PlaceQuery.of(codes, np.linalg.norm(codes.astype(np.float64), axis=1))


def like_volume(found: PlaceSearch, row: int) -> VolumeQuery:
    """The volume of a row of the index as a query like that of ``found``, which is one."""
    index, query = found.comparison.index, found.query.compared
    assert isinstance(index, SliceIndex)
    assert isinstance(query, VolumeQuery)
    volume = index.volume_of(row)
    assert volume is not None
    wholes = index.slices.wholes_of(volume)
    some = evenly_sampled(np.arange(len(wholes)), MOST_SLICES)
    return replace(query, wholes=wholes[some], shown=len(some) // 2)


def image_places(
    loaded: LoadedMetric, stored: LibraryPlaces, query: Query
) -> tuple[Codes, PlaceGrid, tuple[int, int]]:
    """The coded places (p, m) of the query's image or slice, their grid, and its height and width."""
    extractor = extractor_of(stored.feature_set)
    shown = None
    if query.case is not None:
        row = loaded.cases.row_of(query.case)
        details = loaded.details([row])[row]
        at = int(np.searchsorted(stored.rows, row))
        is_stored = at < len(stored.rows) and stored.rows[at] == row
        if is_stored and details.height and details.width and _is_shown_slice(details, query.region):
            grid = _grid(extractor, details.height, details.width)
            return stored.index.codes_of(at), grid, (details.height, details.width)
        if details.address is None:
            raise BadInput(
                tr_lazy("The case {case} has no image.", case=query.case), "Search with another case."
            )
        address, shown = details.address, details.region
    else:
        assert query.image is not None
        address = ImageAddress(query.image)
    number = None if query.region is None else query.region.z
    measured = loaded.cache.or_made(_Measured, _Measured)
    key = (query.case, query.image, number, file_stamp(query.image))
    if key not in measured:
        if len(measured) == _MAX_CACHED:
            measured.clear()
        with ImageReader() as reader:
            image = reader.open(address, query.region if number is not None else shown)
        maps = extractor.describe([extractor.prepare(image)]).maps
        if maps is None:
            raise SemblanceError(
                tr_lazy("{title} describes no places.", title=extractor.title), "Search with the whole image."
            )
        codes = stored.coding.coded(maps[0].reshape(-1, maps.shape[-1]))
        measured[key] = codes, (image.height, image.width)
    codes, size = measured[key]
    return codes, _grid(extractor, *size), size


def _is_shown_slice(case: CaseDetails, region: Region | None) -> bool:
    """Whether ``region`` lies on the slice that represents the case."""
    return region is None or region.z is None or region.z == case.shown_slice


def _grid(extractor: Extractor, height: int, width: int) -> PlaceGrid:
    grid = extractor.place_grid(height, width)
    # An extractor that has described places says where they lie.
    assert grid is not None
    return grid


def _matched(
    extractor: Extractor, case: CaseDetails, cosines: Matrix, extent: tuple[int, int], similarity: float
) -> MatchedPlace | None:
    if not case.height or not case.width:
        return None
    grid = _grid(extractor, case.height, case.width)
    if extent == cosines.shape:
        # All of a slice is found on all of another.
        top, left, bottom, right = 0, 0, *extent
    else:
        top, left, bottom, right = found_rectangle(cosines, extent)
    x, y = grid.place_box(top * grid.columns + left)[:2]
    end_x, end_y = grid.place_box((bottom - 1) * grid.columns + right - 1)[2:]
    x, y, end_x, end_y = (
        max(0.0, x),
        max(0.0, y),
        min(float(case.width), end_x),
        min(float(case.height), end_y),
    )
    middle = case.shown_slice
    return MatchedPlace(
        x,
        y,
        end_x - x,
        end_y - y,
        None if middle is None else middle + 1,
        similarity,
        case.width,
        case.height,
    )


def found_rectangle(cosines: Matrix, extent: tuple[int, int]) -> tuple[int, int, int, int]:
    """Top, left, bottom and right (excluded) of the place found on a grid of mean ``cosines`` (r, c) with a query that
    reaches over ``extent`` rows and columns.

    Of all rectangles around the largest cosine, whose sides are at least half and at most one and a half times those of
    the query: the one with the largest sum of what its cosines exceed the middle of the largest and the median by.
    """
    rows, columns = cosines.shape
    peak_row, peak_column = divmod(int(cosines.argmax()), columns)
    excess = cosines - (cosines.max() + np.median(cosines)) / 2.0
    sums = np.zeros((rows + 1, columns + 1))
    sums[1:, 1:] = excess.cumsum(axis=0).cumsum(axis=1)
    spans = [
        np.array(_spans(peak, length, side), dtype=np.intp)
        for peak, length, side in ((peak_row, rows, extent[0]), (peak_column, columns, extent[1]))
    ]
    (top, bottom), (left, right) = spans[0].T, spans[1].T
    total = (
        sums[np.ix_(bottom, right)]
        - sums[np.ix_(top, right)]
        - sums[np.ix_(bottom, left)]
        + sums[np.ix_(top, left)]
    )
    down, across = divmod(int(total.argmax()), len(left))
    return int(top[down]), int(left[across]), int(bottom[down]), int(right[across])


def _spans(peak: int, length: int, side: int) -> list[tuple[int, int]]:
    """(start, end) of all spans in ``length`` around ``peak`` of about the length ``side``."""
    least, most = max(1, min(length, (side + 1) // 2)), min(length, max(1, (3 * side + 1) // 2))
    return [
        (start, start + size)
        for size in range(least, most + 1)
        for start in range(max(0, peak - size + 1), min(peak, length - size) + 1)
    ]


class _Searches(dict[Any, PlaceSearch]):
    """The comparisons of the last queries, by query and file."""


class _Combined(dict[int | None, tuple[PlaceComparison, CombinedComparison]]):
    """The last comparison by both, by the number of candidates."""


class _MeasuredVolumes(dict[Any, tuple[Rows, Codes]]):
    """The slices of the last volume that the library does not describe, by query and file."""


class _Measured(dict[Any, tuple[Codes, tuple[int, int]]]):
    """Places of images that the library does not store, by query and file."""
