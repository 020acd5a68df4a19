"""The loaded metric that answers a search: as it is stored, or trained again without the query's patient."""

from __future__ import annotations

from pathlib import Path

from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.refit_metric import RefittedMetric, refit_metric
from semblance.core.workflows.searches.estimate import own_cases, trained_on
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.query_features import embed_query


def open_search_metric(library: Path, search: Search, reporter: Reporter = SILENT) -> LoadedMetric:
    """The metric that ranks the cases for ``search``, without the groups of features it leaves out.

    Raises:
        BadArguments: no such metric or group, or all groups left out.
        BadInput: not a library, no case has the metric's features, or the metric cannot be trained again.
    """
    loaded = open_metric(library, search.metric, reporter)
    refitted = _without_patient(loaded, search.query, reporter) if search.without_patient else None
    if refitted is not None:
        loaded = loaded.refitted(refitted, reporter)
    return loaded.without(search.without, reporter)


def train_without_patient(library: Path, search: Search, *, reporter: Reporter = SILENT) -> None:
    """Train the metric that ``search`` needs, and store it in the library.

    Raises:
        BadArguments, BadInput, Cancelled: as :func:`open_search_metric`.
    """
    try:
        _without_patient(open_metric(library, search.metric, reporter), search.query, reporter)
    finally:
        # Another process does the searches.
        close_loaded_metrics(library)


def _without_patient(loaded: LoadedMetric, query: Query, reporter: Reporter) -> RefittedMetric | None:
    """The metric trained again without the query's patient, its copies and near-duplicates; ``None`` if it was not
    trained on any of them."""
    embedded = embed_query(loaded, query)
    if not trained_on(loaded, embedded):
        return None
    excluded = loaded.identity_index(reporter).same_unit(own_cases(loaded, embedded))
    return refit_metric(loaded.library, loaded.record, excluded, reporter=reporter)
