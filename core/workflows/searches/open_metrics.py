"""The loaded metrics of this process, read again when their library changes."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.refit_metric import RefittedMetric, refit_metric
from semblance.core.workflows.metrics.train_request import PROVISIONAL
from semblance.core.workflows.searches.embedding_cache import FEWEST_KEPT
from semblance.core.workflows.searches.estimate import own_cases, trained_on
from semblance.core.workflows.searches.index_candidates import index_candidates
from semblance.core.workflows.searches.loaded_metric import SMALL_BYTES, LoadedMetric
from semblance.core.workflows.searches.query_features import embed_query

if TYPE_CHECKING:
    from semblance.core.library.library import Library


#: Metrics that stay loaded in one process.
MAX_OPEN = 8
#: More stay loaded only if they are small together: a slider has six steps.
MAX_OPEN_LARGE = 4
#: If all together take more bytes, only the one in use keeps its caches. Two refined metrics of 100,000 cases with
#: 200 components fit.
MEMORY_BYTES = 1 << 30

_open_metrics: OrderedDict[tuple[LibraryLocation, str], tuple[Any, LoadedMetric]] = OrderedDict()


def _free_memory() -> None:
    """Free memory, the least recently used metric first: its caches, then the whole metric."""
    loaded_metrics = [loaded for _, loaded in _open_metrics.values()]
    for older in loaded_metrics[:-1]:
        if sum(loaded.nbytes for loaded in loaded_metrics) <= MEMORY_BYTES:
            break
        older.drop_caches()
    while len(_open_metrics) > MAX_OPEN or (
        len(_open_metrics) > MAX_OPEN_LARGE
        and sum(loaded.nbytes for _, loaded in _open_metrics.values()) > SMALL_BYTES
    ):
        _open_metrics.popitem(last=False)[1][1].close()


def open_metric(
    library: LibraryLocation, metric: str, reporter: Reporter = SILENT, *, without: Collection[str] = ()
) -> LoadedMetric:
    """The loaded ``metric``, read again if the library changed since the last call.

    ``without``: groups of features to exclude.

    Raises:
        BadArguments: no such metric, a group it does not have, or all groups left out.
        BadInput: not a library, or no case has the metric's features.
    """
    return _open_whole_metric(library, metric, reporter).without(without, reporter)


def _open_whole_metric(library: LibraryLocation, metric: str, reporter: Reporter) -> LoadedMetric:
    key = (library.absolute(), metric)
    known = _open_metrics.pop(key, None)
    if known is not None and isinstance(library, ServerAddress) and not known[1].library.is_still_at(library):
        # The server went away, or came back.
        known[1].close()
        known = None
    if known is not None:
        stamp, loaded = known
        catalogue = loaded.library.catalogue
        current = catalogue.stamp()
        if catalogue.cases_stamp(current) == catalogue.cases_stamp(stamp):
            if current != stamp:
                loaded.forget_ledgers()
            _open_metrics[key] = current, loaded
            # Its caches grow with every search.
            _free_memory()
            return loaded
        # There may be another library at its path by now.
        loaded.close()
    opened = open_library(library)
    try:
        stamp = opened.catalogue.stamp()
        loaded = _load(opened, metric, reporter)
    except BaseException:
        opened.close()
        raise
    _open_metrics[key] = (stamp, loaded)
    _free_memory()
    return loaded


def _load(opened: Library, metric: str, reporter: Reporter) -> LoadedMetric:
    record = opened.metric(metric)
    try:
        return LoadedMetric(opened, record, reporter)
    except BadInput:
        # Another program, or the preparation of the library, may have replaced it just now.
        newer = opened.metric(metric)
        if newer.file == record.file:
            raise
        return LoadedMetric(opened, newer, reporter)


@contextlib.contextmanager
def without_reload(library: LibraryLocation) -> Iterator[list[Library]]:
    """A context whose writes are judgements in ledgers of loaded metrics, so that neither metrics that are up to date
    nor their ledgers are read again. What others write meanwhile to a library on a server is noticed: the list has
    those libraries afterwards to which nobody else wrote."""
    here = library.absolute()
    current = [
        key
        for key, (stamp, loaded) in _open_metrics.items()
        if key[0] == here
        and (isinstance(library, Path) or loaded.library.is_still_at(library))
        and loaded.library.catalogue.notes_own_changes(stamp)
    ]
    unchanged: list[Library] = []
    yield unchanged
    for key in current:
        stamp, loaded = _open_metrics[key]
        after, is_all = loaded.library.catalogue.stamp_after_own_changes(stamp)
        _open_metrics[key] = after, loaded
        if is_all:
            unchanged.append(loaded.library)


def prepare_searches(library: LibraryLocation, metric: str, reporter: Reporter = SILENT) -> None:
    """Store what the first search by a new ``metric`` would otherwise compute: on a server its index, else the
    coordinates of all cases and what is derived from them. With few cases, or where nothing can be stored, nothing.

    Raises:
        BadArguments: no such metric.
        BadInput: not a library, or no case has the metric's features.
        Cancelled: the reporter was cancelled; the first search then computes the rest.
    """
    if isinstance(library, ServerAddress):
        index_candidates(library, (metric,), reporter=reporter)
        return
    with open_library(library) as opened:
        record = opened.metric(metric)
        chunks = opened.features.chunk_rows(opened.features.of_metric(record))
        few = sum(map(len, chunks.values())) < FEWEST_KEPT
        if few or not opened.can_store_derived or PROVISIONAL in record.card:
            return
        loaded = LoadedMetric(opened, record, reporter)
        reporter.check_cancelled()
        _ = loaded.neighbourhoods, loaded.trained_cases


def close_loaded_metrics(library: LibraryLocation | None = None) -> None:
    """Close every library that is open here, or only the one at ``library``."""
    here = None if library is None else library.absolute()
    for key in [key for key in _open_metrics if here in (None, key[0])]:
        _open_metrics.pop(key)[1].close()


def open_search_metric(library: LibraryLocation, search: Search, reporter: Reporter = SILENT) -> LoadedMetric:
    """The metric that ranks the cases for ``search``, without the groups of features it leaves out.

    Raises:
        BadArguments: no such metric or group, or all groups left out.
        BadInput: not a library, no case has the metric's features, or the metric cannot be trained again.
        Cancelled: the reporter was cancelled.
    """
    loaded = open_metric(library, search.metric, reporter)
    refitted = _without_patient(loaded, search.query, reporter) if search.without_patient else None
    if refitted is not None:
        loaded = loaded.refitted(refitted, reporter)
    return loaded.without(search.without, reporter)


def train_without_patient(library: LibraryLocation, search: Search, *, reporter: Reporter = SILENT) -> None:
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
