"""The places of a library's cases, ready to be searched: in memory or mapped from the folder of derived data."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.features.places import PLACES, SLICES, PlaceCoding
from semblance.core.features.slice_descriptions import SliceDescriptions
from semblance.core.library.feature_sets import features_stamp
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CODING, FeatureSet
from semblance.core.retrieval.candidate_index import RECALL_AT
from semblance.core.retrieval.index import Rows
from semblance.core.retrieval.place_index import (
    CENTROIDS,
    CodedPlaces,
    PlaceIndex,
    PlaceQuery,
    evenly_sampled,
)
from semblance.core.retrieval.slice_index import SliceIndex, SlicesInSpace
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.derived_arrays import PLACES_SUFFIX, load_arrays, save_arrays
from semblance.core.workflows.features.stored_places import coding_of, read_places

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: With fewer cases all are compared: that takes less time than coding their places.
FEWEST = 2_000
#: The share of the 20 nearest cases that the candidates must contain.
RECALL = 0.98
#: Numbers of candidates that are tried, in order, and the regions that the recall is measured with.
NUMBERS, QUERIES = (100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600), 60
#: Fewer regions, but at least 20, are enough for more comparisons with images than this: each takes 15 microseconds.
_MOST_COMPARED = 2_000_000
#: The least and the largest side of these regions, in places.
_SIDES = 2, 6
_ARRAYS = ("rows", "codes", "inverse_lengths", "centroids", "images", "starts", "measured")

#: The places of the last library, which all its metrics share, and what they were made from.
_latest: dict[Any, LibraryPlaces] = {}


@dataclass(frozen=True, eq=False)
class LibraryPlaces:
    """The places of the cases ``rows`` (n,), ids ascending, in an ``index`` of a grid of ``grid_rows`` x
    ``grid_columns`` places, coded by ``coding``; made with ``feature_set``. Of volumes whose slices are described the
    index knows all these (:class:`semblance.core.retrieval.slice_index.SliceIndex`).

    ``recall``: the share of the 20 nearest cases among the candidates of the index, measured with ``queries`` regions
    of its cases; ``None`` where all cases are compared.
    """

    library: LibraryLocation
    feature_set: FeatureSet
    rows: Rows
    index: PlaceIndex
    coding: PlaceCoding
    grid_rows: int
    grid_columns: int
    recall: float | None = None
    queries: int = 0


def has_places(library: Library, preferred: FeatureSet | None = None) -> bool:
    """Whether cases of the library have places, with ``preferred`` or any other feature set."""
    return _whole_with_places(library, preferred) is not None


def code_places(library: LibraryLocation, features: str, *, reporter: Reporter = SILENT) -> None:
    """Code the places of the feature set called ``features``, so that searches compare candidates only. Does nothing
    where there are none or few, or they are coded already.

    Raises:
        BadInput: they are damaged.
    """
    with open_library(library, writable=True) as opened:
        feature_set = next((one for one in opened.features.all() if one.name == features), None)
        if feature_set is not None and opened.can_store_derived and has_places(opened, feature_set):
            library_places(opened, feature_set, reporter, code=True)


def library_places(
    library: Library, preferred: FeatureSet | None = None, reporter: Reporter = SILENT, *, code: bool = False
) -> LibraryPlaces:
    """The places that were described with ``preferred``, else with any feature set; kept between calls as long as the
    library stays the same. Without ``code`` places that were not coded yet are all compared, because coding takes
    longer than many searches: 100,000 images a minute or more.

    Raises:
        BadInput: no case has places, or they are damaged.
    """
    whole = _whole_with_places(library, preferred)
    if whole is None:
        whole = preferred if preferred is not None else library.features.all()[0]
        # Raises the error that says what to do.
        read_places(library, whole)
    places = library.features.part(whole, PLACES)
    assert places is not None
    chunks = library.features.chunk_rows(places)
    stamp = hashlib.blake2b(digest_size=12)
    stamp.update(repr((places.settings[CODING], features_stamp(chunks))).encode())
    sums = library.features.chunk_sums(places)
    stamp.update(repr(sorted(sums.items())).encode())
    slices = library.features.part(whole, SLICES)
    of_slices = "" if slices is None else features_stamp(library.features.chunk_rows(slices))
    key = (library.location.absolute(), places.id, stamp.hexdigest(), of_slices)
    if key not in _latest or (code and _latest[key].index.coded is None):
        found = _read(library, whole, places, stamp.hexdigest(), reporter, code)
        if slices is not None and slices.settings[CODING] == places.settings[CODING]:
            found = _with_slices(library, found, slices, reporter)
        _latest.clear()
        _latest[key] = found
    return _latest[key]


def _with_slices(
    library: Library, found: LibraryPlaces, slices: FeatureSet, reporter: Reporter
) -> LibraryPlaces:
    """``found`` with the slices of its volumes."""
    volumes: dict[int, SliceDescriptions] = {}
    for ids, block in library.features.blocks(slices, 1):
        reporter.check_cancelled()
        for row, packed in zip(ids.tolist(), block, strict=True):
            at = int(np.searchsorted(found.rows, row))
            if at < len(found.rows) and found.rows[at] == row:
                # A damaged volume is searched by the slice that represents it.
                with contextlib.suppress(ValueError):
                    volumes[at] = SliceDescriptions.unpacked(packed)
    if not volumes:
        return found
    in_space = SlicesInSpace.of(list(volumes.values()))
    index = SliceIndex(found.index, in_space, {row: number for number, row in enumerate(volumes)})
    return replace(found, index=index)


def forget_places(library: LibraryLocation | None = None) -> None:
    """Drop the places of ``library``, or of any library."""
    here = None if library is None else library.absolute()
    if any(here in (None, one.library) for one in _latest.values()):
        _latest.clear()


def _whole_with_places(library: Library, preferred: FeatureSet | None) -> FeatureSet | None:
    """The feature set with whose pass places were described; preferably ``preferred``."""
    sets = [one for one in library.features.all() if not one.part]
    if preferred is not None:
        own = library.features.whole(preferred)
        sets.sort(key=lambda one: one.id != own.id)
    for one in sets:
        places = library.features.part(one, PLACES)
        if places is not None and any(
            (rows >= 0).any() for rows in library.features.chunk_rows(places).values()
        ):
            return one
    return None


def _read(
    library: Library, whole: FeatureSet, places: FeatureSet, stamp: str, reporter: Reporter, code: bool
) -> LibraryPlaces:
    file = library.derived / f"{places.id}{PLACES_SUFFIX}"
    stored = load_arrays(file, stamp)
    if stored is None or not set(_ARRAYS) <= stored.keys():
        read = read_places(library, whole)
        if len(read.rows) < FEWEST or not code:
            here = library.location.absolute()
            index = PlaceIndex(read.codes)
            return LibraryPlaces(
                here, whole, read.rows, index, read.coding, read.grid_rows, read.grid_columns
            )
        # A power of two not above the number of cases: k-means of more takes longer than it saves.
        centroids = min(CENTROIDS, 1 << (len(read.rows).bit_length() - 1))
        coded = CodedPlaces.made(read.codes, reporter, centroids=centroids)
        index = PlaceIndex(read.codes, coded=coded, candidates=NUMBERS[0])
        shape = read.grid_rows, read.grid_columns
        number, recall, queries = measure_recall(index, shape, RECALL, reporter)
        stored = {
            "rows": read.rows,
            "codes": read.codes,
            "inverse_lengths": index.inverse_lengths,
            "centroids": coded.centroids,
            "images": coded.images,
            "starts": coded.starts,
            "measured": np.array([number, recall, queries, *shape]),
        }
        if library.can_store_derived:
            save_arrays(file, stored, stamp)
            # What was written is mapped and takes no memory of its own.
            stored = load_arrays(file, stamp) or stored
    number, recall, queries, grid_rows, grid_columns = stored["measured"].tolist()
    coded = CodedPlaces(stored["centroids"], stored["images"], stored["starts"])
    index = PlaceIndex(
        stored["codes"], inverse_lengths=stored["inverse_lengths"], coded=coded, candidates=int(number)
    )
    return LibraryPlaces(
        library.location.absolute(),
        whole,
        stored["rows"],
        index,
        coding_of(places),
        int(grid_rows),
        int(grid_columns),
        float(recall) if number else None,
        int(queries),
    )


def region_queries(
    index: PlaceIndex, shape: tuple[int, int], count: int, sides: tuple[int, int] = _SIDES
) -> list[tuple[int, PlaceQuery]]:
    """``count`` regions of images of the index, drawn at random: the row of the image, and the places of a rectangle
    of ``sides`` places at least and at most; ``shape``: the rows and columns of the grid."""
    rng = np.random.default_rng(0)
    found = []
    for row in rng.choice(len(index), min(count, len(index)), replace=False).tolist():
        height, width = (min(side, int(rng.integers(sides[0], sides[1] + 1))) for side in shape)
        top, left = int(rng.integers(shape[0] - height + 1)), int(rng.integers(shape[1] - width + 1))
        numbers = np.add.outer(np.arange(top, top + height) * shape[1], np.arange(left, left + width))
        found.append((row, PlaceQuery.of(index.codes_of(row)[evenly_sampled(numbers.reshape(-1))])))
    return found


def measure_recall(
    index: PlaceIndex, shape: tuple[int, int], required: float, reporter: Reporter = SILENT
) -> tuple[int, float, int]:
    """The smallest of :data:`NUMBERS` of candidates that contain the ``required`` share of the 20 nearest of regions of
    the index's own images, each without its image; 0, which compares all, where none does. The share, 1 for all, and
    the number of regions."""
    queries = region_queries(index, shape, min(QUERIES, max(20, _MOST_COMPARED // max(1, len(index)))))
    exact, nearest = index.with_candidates(0), []
    for row, query in queries:
        reporter.check_cancelled()
        among = np.ones(len(index), dtype=np.bool_)
        among[row] = False
        nearest.append((query, among, exact.search(query, RECALL_AT, among)))
    for number in NUMBERS:
        reporter.check_cancelled()
        some = index.with_candidates(number)
        # Equal distances may be exchanged.
        hits = sum(
            int((some.search(query, RECALL_AT, among).distances <= best.distances[-1]).sum())
            for query, among, best in nearest
        )
        share = hits / max(1, sum(len(best.rows) for _, _, best in nearest))
        if share >= required:
            return number, share, len(queries)
    return 0, 1.0, len(queries)
