"""Whether a query has a close match in the library: a region by its places where they are compared, a whole image by
the encoder if it measured the cases, else by the metric.

After PCA, images of another kind lie among the cases, so the encoder's features are only scaled to length 1. A large
library is represented by cases drawn at random, on which the threshold is measured too. What is usual for the places
of a region is measured with regions of the library: those of its cases, else windows about as large.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.encoder.model_file import RANDOM
from semblance.core.features.places import Codes
from semblance.core.library.location import LibraryLocation
from semblance.core.retrieval.index import Matrix, Rows
from semblance.core.retrieval.match_distance import (
    FEWEST,
    NEAREST,
    conformal_limit,
    leave_one_out_distances,
    mean_of_nearest,
)
from semblance.core.retrieval.place_index import PlaceQuery, evenly_sampled
from semblance.core.retrieval.ranking import EmbeddedQuery, Ranking, rank
from semblance.core.retrieval.slice_index import VolumeQuery
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.train_request import PROVISIONAL
from semblance.core.workflows.searches.library_places import LibraryPlaces
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.place_search import PlaceSearch, like_volume, whole_image_query
from semblance.core.workflows.searches.query_comparison import QueryComparison
from semblance.core.workflows.searches.query_features import features_in, file_stamp
from semblance.core.workflows.searches.search_result import ENCODER, METRIC, PLACES, MatchCheck

if TYPE_CHECKING:
    from semblance.core.library.records import FeatureSet


#: With fewer held-out cases, a rate of 1 % cannot be estimated from them alone.
_ENOUGH = 99
#: Distances of queries that one loaded metric caches.
_MAX_DISTANCES = 64

#: Cases that a query is compared with. More would take memory (5 kB each) without a better result.
CASES = 10_000
#: Number of these for which the usual distance is measured; fewer in a large library, where each takes longer.
SAMPLE, SAMPLE_LARGE, LARGE = 1000, 500, 5000
#: The encoder is used if it has measured at least this share of the cases.
_COVERED = 0.9

#: Regions whose usual distance is measured, cases that they are compared with, and the sides of windows, in places.
REGIONS, COMPARED, SIDES = 150, 1_000, (1, 2, 3, 4, 6, 9, 14)
#: In place of a side: whole slices, and volumes by all their slices.
SLICE, ALL_SLICES = "slice", "all slices"
#: Windows that are looked at for each, of which the one counts that stands out most: people draw regions around that.
_WINDOWS = 8

#: The last reference and what it was made of; all metrics of a library share it.
_latest: dict[Any, EncoderReference] = {}


def check_match(compared: QueryComparison, plain_query: EmbeddedQuery, nearest: Ranking) -> MatchCheck | None:
    """The distance of the query of ``compared`` from its nearest cases; ``None`` if no check is requested, or too few
    cases can be compared.

    ``plain_query``: the query under the metric alone. ``nearest``: its ranking by ``compared``, without marks.
    """
    search, loaded = compared.search, compared.loaded
    if search.no_match_rate <= 0.0:
        return None
    if compared.by_place is not None and search.query.region is not None:
        return _by_places(compared, compared.by_place)
    found = _by_encoder(loaded, search.query, plain_query)
    if found is not None:
        distance, usual = found
        return MatchCheck(ENCODER, distance, conformal_limit(usual, search.no_match_rate))
    if search.is_shifted:
        # Concepts can move a query beyond all cases, so the usual distances between cases do not apply.
        return None
    usual = mean_of_nearest(compared.neighbour_distances)
    if len(usual) < FEWEST:
        return None
    if not (search.hide_same_patient and search.group_duplicates):
        nearest = rank(
            compared.index, compared.query, NEAREST, patients=loaded.patient_codes, keys=loaded.keys
        )
    if not len(nearest.distances):
        return None
    distance = float(mean_of_nearest(nearest.distances[np.newaxis])[0])
    fresh = ~np.isin(loaded.rows[loaded.neighbourhoods.places], loaded.trained_cases)
    return MatchCheck(METRIC, distance, limit_by_metric(usual, fresh, search.no_match_rate))


def _by_places(compared: QueryComparison, found: PlaceSearch) -> MatchCheck | None:
    """The distance of a region, slice or volume from the nearest of some cases, by its places or slices, and the limit
    for regions as large, slices or volumes."""
    loaded = compared.loaded
    side: int | str | None = None
    shape = found.stored.grid_rows, found.stored.grid_columns
    if isinstance(found.query.compared, VolumeQuery):
        side = ALL_SLICES
    elif found.query.extent == shape and len(found.query.numbers) == shape[0] * shape[1]:
        side = SLICE
    elif not loaded.with_regions:
        extent = float(np.sqrt(np.prod(found.query.extent)))
        side = min(SIDES, key=lambda one: abs(one - extent))
    known = loaded.cache.or_made(_RegionDistances, _RegionDistances)
    if known.stored is not found.stored:
        known.clear()
        known.stored = found.stored
    if side not in known:
        known[side] = _usual_of_regions(loaded, found, side)
    usual = known[side]
    if len(usual) < FEWEST:
        return None
    query = compared.query
    own = query.same_patient_cases(loaded.patient_codes) | query.copies_among(loaded.keys)
    if query.position is not None:
        own[query.position] = True
    distance = _distance_of_places(found, found.query.compared, ~own)
    if not np.isfinite(distance):
        return None
    return MatchCheck(PLACES, distance, conformal_limit(usual, compared.search.no_match_rate))


def _usual_of_regions(loaded: LoadedMetric, found: PlaceSearch, side: int | str | None) -> Matrix:
    """(s,) usual distances of regions of cases from the nearest cases of other patients: of the regions of the cases,
    of windows of ``side`` places, of whole slices or of volumes."""
    rng = np.random.default_rng(0)
    there = np.flatnonzero(found.comparison.with_places)
    sample = rng.choice(there, min(REGIONS, len(there)), replace=False)
    details = loaded.details(loaded.rows[sample].tolist())
    usual = []
    for position in sample.tolist():
        row = int(found.comparison.index_rows(np.array([position]))[0])
        codes = found.stored.index.codes_of(row)
        query: PlaceQuery | None = None
        if side == ALL_SLICES:
            query = like_volume(found, row)
        elif side == SLICE:
            query = whole_image_query(codes)
        elif isinstance(side, int):
            numbers = _window(codes, (found.stored.grid_rows, found.stored.grid_columns), side, rng)
        else:
            case = details[int(loaded.rows[position])]
            if case.region is None or not case.height or not case.width:
                continue
            numbers = found.grid_of(case.height, case.width).places_in(case.region).astype(np.int64)
        own = loaded.keys == loaded.keys[position]
        patient = loaded.patient_codes[position]
        if patient >= 0:
            own |= loaded.patient_codes == patient
        own[position] = True
        query = query or PlaceQuery.of(codes[evenly_sampled(numbers)])
        usual.append(_distance_of_places(found, query, ~own))
    distances: Matrix = np.array([one for one in usual if np.isfinite(one)])
    return distances


def _window(codes: Codes, shape: tuple[int, int], side: int, rng: np.random.Generator) -> Rows:
    """The numbers of the places of a window of ``side`` places: of some drawn at random the one whose places are
    farthest from the mean place."""
    lengths = np.linalg.norm(codes.astype(np.float64), axis=1)
    height, width = (min(side, length) for length in shape)
    windows = []
    for _ in range(_WINDOWS):
        top, left = rng.integers(shape[0] - height + 1), rng.integers(shape[1] - width + 1)
        numbers = np.add.outer(np.arange(top, top + height) * shape[1], np.arange(left, left + width))
        windows.append(numbers.reshape(-1))
    return max(windows, key=lambda numbers: float(lengths[numbers].mean()))


def _distance_of_places(found: PlaceSearch, query: PlaceQuery, allowed: npt.NDArray[np.bool_]) -> float:
    """The mean distance of ``query`` to the 5 nearest of the ``allowed`` (n,) among some cases."""
    comparison = found.comparison
    positions = np.flatnonzero(comparison.with_places)
    if len(positions) > COMPARED:
        positions = np.sort(np.random.default_rng(1).choice(positions, COMPARED, replace=False))
    positions = positions[allowed[positions]]
    if not len(positions):
        return float("inf")
    rows = comparison.index_rows(positions)
    squared = np.maximum(found.stored.index.nearly_exact_distances(query, rows), 0.0)
    return float(mean_of_nearest(squared[np.newaxis])[0])


class _RegionDistances(dict["int | str | None", Matrix]):
    """Usual distances of regions, by the side of windows; ``None`` for those of the cases; of slices and volumes."""

    stored: LibraryPlaces | None = None


def limit_by_metric(usual: Matrix, fresh: npt.NDArray[np.bool_], rate: float) -> float:
    """The limit from the distances ``usual`` (s,) of cases, of which ``fresh`` (s,) were not trained on.

    A metric moves its training cases nearer to each other, so the other cases are used if there are enough.
    """
    others = usual[fresh]
    if len(others) >= _ENOUGH:
        return conformal_limit(others, rate)
    limit = conformal_limit(usual, rate)
    return limit if len(others) < FEWEST else max(limit, conformal_limit(others, rate))


def _by_encoder(
    loaded: LoadedMetric, query: Query, plain_query: EmbeddedQuery
) -> tuple[float, Matrix] | None:
    """The distance of ``query`` by the encoder and those of cases; ``None`` if the metric must be used."""
    reference = encoder_reference(loaded)
    if reference is None or len(reference.distances) < FEWEST:
        return None
    cached = loaded.cache.or_made(_EncoderDistances, _EncoderDistances)
    key = (query, file_stamp(query.image))
    if key not in cached:
        cached[key] = _distance(reference, loaded, query, plain_query)
        while len(cached) > _MAX_DISTANCES:
            cached.popitem(last=False)
    distance = cached[key]
    return None if distance is None or not np.isfinite(distance) else (distance, reference.distances)


def _distance(
    reference: EncoderReference, loaded: LoadedMetric, query: Query, plain_query: EmbeddedQuery
) -> float | None:
    try:
        features = features_in(loaded, query, reference.feature_set)
    except SemblanceError:
        # A query that the encoder cannot measure is still ranked and checked by the metric.
        return None
    return reference.distance(features, plain_query, loaded)


@dataclass(frozen=True, eq=False)
class EncoderReference:
    """Cases ``rows`` (r, 1280) of length 1 at the ``places`` (r,) of a loaded metric.

    ``distances`` (s,) of some of them to their 5 nearest of another patient and lesion. ``feature_set``: where the
    numbers come from.
    """

    library: LibraryLocation
    feature_set: FeatureSet
    places: Rows
    rows: npt.NDArray[np.float32]
    distances: Matrix

    def distance(self, features: Matrix, query: EmbeddedQuery, loaded: LoadedMetric) -> float:
        """The mean distance of ``features`` (1280,) to its 5 nearest of another patient and lesion than ``query``."""
        unit = _unit(features[np.newaxis].astype(np.float32))[0]
        squared = np.maximum(2.0 - 2.0 * (self.rows @ unit), 0.0).astype(np.float64)
        own = query.same_patient_cases(loaded.patient_codes) | query.copies_among(loaded.keys)
        if query.position is not None:
            own[query.position] = True
        squared[own[self.places]] = np.inf
        return float(mean_of_nearest(squared[np.newaxis])[0])


def encoder_reference(loaded: LoadedMetric) -> EncoderReference | None:
    """The cases of ``loaded`` with the features of the encoder; ``None`` if it has not measured (nearly) all.

    While a library is being measured there is none, because its cases keep changing.

    Raises:
        BadInput: the features are damaged.
    """
    return loaded.cache.or_made(_FoundReference, lambda: _FoundReference.of(loaded)).reference


@dataclass(frozen=True, eq=False)
class _FoundReference:
    """The reference of a loaded metric, ``None`` if it has none."""

    reference: EncoderReference | None

    @classmethod
    def of(cls, loaded: LoadedMetric) -> _FoundReference:
        measured = None if PROVISIONAL in loaded.record.card else _measured_by_encoder(loaded)
        return cls(None if measured is None else _shared_reference(loaded, *measured))


class _EncoderDistances(OrderedDict[Any, float | None]):
    """The distances by the encoder of the last queries, by query and file."""


def _shared_reference(loaded: LoadedMetric, feature_set: FeatureSet, places: Rows) -> EncoderReference:
    """The last reference if it has the same cases, else a new one."""
    if len(places) > CASES:
        places = np.sort(np.random.default_rng(0).choice(places, CASES, replace=False))
    stamp = hashlib.blake2b(digest_size=16)
    patients = loaded.patient_codes[places].astype(np.int64)
    for numbers in (places, loaded.rows[places], patients, loaded.keys[places]):
        stamp.update(np.ascontiguousarray(numbers).tobytes())
    chunks = loaded.library.features.chunk_sums(feature_set)
    made_of = (loaded.library.location, feature_set.id, tuple(sorted(chunks.items())), stamp.digest())
    if made_of not in _latest:
        ids, numbers = loaded.library.features.read(feature_set, loaded.rows[places])
        # Another program may have removed some meanwhile.
        there = np.isin(loaded.rows[places], ids)
        places, patients = places[there], patients[there]
        rows = _unit(numbers.astype(np.float32))
        limit = SAMPLE if len(places) <= LARGE else SAMPLE_LARGE
        sample = np.random.default_rng(0).choice(len(places), min(limit, len(places)), replace=False)
        distances = leave_one_out_distances(rows, np.sort(sample), patients, loaded.keys[places])
        usual = distances[np.isfinite(distances)]
        _latest.clear()
        _latest[made_of] = EncoderReference(
            loaded.library.location.absolute(), feature_set, places, rows, usual
        )
    return _latest[made_of]


def forget_reference(library: LibraryLocation | None = None) -> None:
    """Drop the reference of ``library``, or of any library."""
    here = None if library is None else library.absolute()
    if any(here in (None, reference.library) for reference in _latest.values()):
        _latest.clear()


def _measured_by_encoder(loaded: LoadedMetric) -> tuple[FeatureSet, Rows] | None:
    """A feature set of the encoder and the positions of the cases that have it; preferably the metric's own."""
    sets = sorted(loaded.library.features.all(), key=lambda one: one.id != loaded.feature_set.id)
    for feature_set in sets:
        if not _is_of_encoder(feature_set):
            continue
        measured = np.isin(loaded.rows, loaded.library.features.cases_of(feature_set))
        if measured.mean() >= _COVERED:
            return feature_set, np.flatnonzero(measured)
    return None


def _is_of_encoder(feature_set: FeatureSet) -> bool:
    current = feature_set.extractor == Encoder.name and feature_set.version == Encoder.version
    is_head = "description" not in feature_set.settings
    return current and is_head and feature_set.settings.get("weights") != RANDOM


def _unit(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """``rows`` (n, d) divided by their lengths; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return (rows / np.where(lengths > 0.0, lengths, 1.0)[:, np.newaxis]).astype(np.float32, copy=False)
