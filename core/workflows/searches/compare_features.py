"""The features of a query and of a ranked case side by side, those that differ most first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.query_features import case_features, query_features
from semblance.core.workflows.searches.search_metric import open_search_metric

#: Cases of which mean and standard deviation are computed, at most, and where a loaded metric caches them.
SAMPLE = 2000
_SPREAD = "spread"


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
    library: Path, search: Search, case: str, *, reporter: Reporter = SILENT
) -> list[ComparedFeature]:
    """The features that ``search`` ranks by, of its query and of ``case``. The largest differences come first, those
    of missing values last.

    Raises:
        BadArguments: no such metric.
        BadInput: no such case, no features for it or the query, or an image that cannot be read.
    """
    loaded = open_search_metric(library, search, reporter)
    pair = np.array([query_features(loaded, search.query), case_features(loaded, case, loaded.feature_set)])
    means, deviations = _spread(loaded)
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


def _spread(loaded: LoadedMetric) -> tuple[Matrix, Matrix]:
    """(d,) means and (d,) standard deviations of the features of cases drawn from the library, without missing
    values."""
    if _SPREAD not in loaded.cache:
        rng = np.random.default_rng(0)
        drawn = rng.choice(loaded.rows, min(SAMPLE, len(loaded.rows)), replace=False)
        values = loaded.library.features.read(loaded.feature_set, drawn)[1].astype(np.float64)
        known = ~np.isnan(values)
        number = np.maximum(known.sum(axis=0), 1)
        means = np.where(known, values, 0.0).sum(axis=0) / number
        squares = np.where(known, (values - means) ** 2, 0.0)
        loaded.cache[_SPREAD] = means, np.sqrt(squares.sum(axis=0) / number)
    spread: tuple[Matrix, Matrix] = loaded.cache[_SPREAD]
    return spread
