"""Whether a query has a close match in the library, by the encoder if it measured the cases, else by the metric."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.retrieval.index import Matrix
from semblance.core.retrieval.match_distance import FEWEST, NEAREST, conformal_limit, mean_of_nearest
from semblance.core.retrieval.ranking import EmbeddedQuery, Ranking, rank
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.encoder_reference import EncoderReference, encoder_reference
from semblance.core.workflows.searches.grouped_ranking import QueryComparison
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.query_features import features_in, file_stamp
from semblance.core.workflows.searches.search_result import ENCODER, METRIC, MatchCheck

#: With fewer held-out cases, a rate of 1 % cannot be estimated from them alone.
_ENOUGH = 99
#: Key of the distances of queries in the cache of a loaded metric, and their number.
_DISTANCES, _KEPT = "match distances", 64


def check_match(compared: QueryComparison, plain_query: EmbeddedQuery, nearest: Ranking) -> MatchCheck | None:
    """The distance of the query of ``compared`` from its nearest cases; ``None`` if no check is requested, or too few
    cases can be compared.

    ``plain_query``: the query under the metric alone. ``nearest``: its ranking by ``compared``, without marks.
    """
    search, loaded = compared.search, compared.loaded
    if search.no_match_rate <= 0.0:
        return None
    found = _by_encoder(loaded, search.query, plain_query)
    if found is not None:
        distance, usual = found
        return MatchCheck(ENCODER, distance, conformal_limit(usual, search.no_match_rate))
    if search.is_shifted:
        # Concepts can move a query beyond all cases, so the usual distances between cases do not apply.
        return None
    usual = mean_of_nearest(compared.nearest)
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
    cached: OrderedDict[Any, float | None] = loaded.cache.setdefault(_DISTANCES, OrderedDict())
    key = (query, file_stamp(query.image))
    if key not in cached:
        cached[key] = _distance(reference, loaded, query, plain_query)
        while len(cached) > _KEPT:
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
