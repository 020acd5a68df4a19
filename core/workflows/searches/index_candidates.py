"""Indexes on a server that find candidates for searches: build them, measure how many are needed, open one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy
from semblance.core.library.feature_sets import features_stamp
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.open_library import open_library
from semblance.core.library.records import EmbeddingIndex, FeatureSet, MetricRecord
from semblance.core.library.stored_values import store_value, stored_value
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.candidate_index import RECALL_AT, CandidateIndex, CandidateSource
from semblance.core.retrieval.index import Index, Rows
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.metrics.train_request import PROVISIONAL
from semblance.core.workflows.searches.embedding_cache import embed_cases

if TYPE_CHECKING:
    from semblance.core.library.library import Library


#: With fewer cases all are compared: that takes less time than a question to a server.
FEWEST = 100_000
#: The share of the 20 nearest cases that the candidates must contain.
RECALL = 0.98
#: Numbers of candidates that are tried, in order, and the cases as queries that the recall is measured with.
NUMBERS, QUERIES = (50, 100, 200, 400, 800, 1600), 200
_SETTINGS_KEY = "candidates"


@dataclass(frozen=True)
class CandidateSettings(JsonDocument):
    """From ``fewest`` cases on an index finds candidates, if it reaches ``recall``."""

    fewest: int = FEWEST
    recall: float = RECALL


@dataclass(frozen=True)
class IndexedMetric(JsonDocument):
    """The index of a metric after :func:`index_candidates`: why it has ``none``, or what was measured."""

    JSON_KEYS: ClassVar[JsonKeys] = (
        "metric",
        "cases",
        "candidates",
        ("recall@20", "recall"),
        ("measured_with", "queries"),
        ("why_none", "none"),
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ("why_none",)

    metric: str
    cases: int
    candidates: int | None
    recall: float | None
    queries: int
    none: str = ""


def candidate_settings(library: Library) -> CandidateSettings:
    """The settings of a library."""
    found = stored_value(library.catalogue, _SETTINGS_KEY)
    if not isinstance(found, dict):
        return CandidateSettings()
    return CandidateSettings(int(found.get("fewest", FEWEST)), float(found.get("recall", RECALL)))


def index_candidates(
    library: LibraryLocation,
    metrics: tuple[str, ...] = (),
    *,
    fewest: int | None = None,
    recall: float | None = None,
    reporter: Reporter = SILENT,
) -> list[IndexedMetric]:
    """Build or update the indexes of ``metrics``, or of all. Searches compare all cases until it is done.

    ``fewest`` and ``recall`` are stored as the settings of the library first.

    Raises:
        BadArguments: the library is in a folder, or no such metric.
        SemblanceError: the user may not, or another program builds one.
    """
    from semblance.core.library.server.library import ServerLibrary

    with open_library(library) as opened:
        if not isinstance(opened, ServerLibrary):
            raise BadArguments(
                "Only a library on a server has indexes of candidates. In a folder all cases are compared."
            )
        settings = candidate_settings(opened)
        if fewest is not None or recall is not None:
            settings = CandidateSettings(
                settings.fewest if fewest is None else fewest, settings.recall if recall is None else recall
            )
            store_value(opened.catalogue, _SETTINGS_KEY, settings.to_json())
        records = [opened.metric(name) for name in metrics] or opened.metrics()
        return [_indexed(opened, record, settings, reporter) for record in records]


def update_indexes(library: LibraryLocation, reporter: Reporter = SILENT) -> list[IndexedMetric]:
    """Update the indexes that are older than their features, as after cases were measured or removed.

    Raises:
        as :func:`index_candidates`.
    """
    if not isinstance(library, ServerAddress):
        return []
    with open_library(library) as opened:
        outdated = opened.outdated_indexes()
    return index_candidates(library, outdated, reporter=reporter) if outdated else []


def _indexed(
    library: Any, record: MetricRecord, settings: CandidateSettings, reporter: Reporter
) -> IndexedMetric:
    from semblance.core.library.server.embeddings import MAX_DIMENSIONS, StoredRows, building

    metric, feature_set = stored_metric(record), library.features.of_metric(record)
    chunks = library.features.chunk_rows(feature_set)
    known = {one.metric: one for one in library.embedding_indexes()}
    cases = sum(int((rows >= 0).sum()) for rows in chunks.values())
    why = _why_none(cases, can_have_candidates(metric), PROVISIONAL in record.card, settings)
    if why:
        if record.file.stem in known:
            with building(library.catalogue) as build:
                build.drop(known[record.file.stem].number)
        return IndexedMetric(record.name, cases, None, None, 0, why)
    embedded, stamp = embed_cases(library, record, metric, feature_set, reporter)
    if embedded.embedding.shape[1] > MAX_DIMENSIONS:
        why = tr_lazy("The metric has more than {most} numbers for a case.", most=MAX_DIMENSIONS)
        return IndexedMetric(record.name, cases, None, None, 0, why)
    rows = StoredRows(embedded.rows, _chunk_numbers(chunks, embedded.rows), embedded.embedding)
    stems = {one.file.stem for one in library.metrics()}
    with building(library.catalogue) as build:
        for stem, index in known.items():
            if stem not in stems:
                build.drop(index.number)
        embedding = build.store(record.file.stem, rows, reporter)
        reporter.progress(0, None, "Measuring the recall of the index")
        number, found, queries = measure_recall(
            embedding, embedded.rows, Index(embedded.embedding), embedded.embedding, settings.recall, reporter
        )
        build.finish(embedding, record.file.stem, stamp, len(embedded.rows), number, found, queries)
    why = tr_lazy("The required recall was not reached, so all cases are compared.") if number is None else ""
    return IndexedMetric(record.name, cases, number, found, queries, why)


def _why_none(cases: int, possible: bool, provisional: bool, settings: CandidateSettings) -> str:
    if cases < settings.fewest:
        return tr_lazy(
            "It has fewer than {fewest} cases, so all are compared.", fewest=f"{settings.fewest:,}"
        )
    if not possible:
        return tr_lazy("The metric has no coordinates, so all cases are compared.")
    return tr_lazy("The metric is provisional.") if provisional else ""


def _chunk_numbers(chunks: Mapping[int, Rows], rows: Rows) -> Rows:
    """(n,) the chunk of each of ``rows`` (n,), ascending.

    Raises:
        BadInput: another program changed the features meanwhile.
    """
    every = np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()])
    numbers = np.repeat(np.fromiter(chunks, dtype=np.int64), [len(part) for part in chunks.values()])
    there = every >= 0
    every, numbers = every[there], numbers[there]
    order = np.argsort(every)
    if not np.array_equal(every[order], rows):
        raise BadInput("Another program changed the features at the same time.", "Try again.")
    return numbers[order]


def measure_recall(
    source: CandidateSource,
    cases: Rows,
    exact: Index,
    coordinates: np.ndarray[Any, np.dtype[np.float64]],
    required: float,
    reporter: Reporter = SILENT,
) -> tuple[int | None, float, int]:
    """The smallest of :data:`NUMBERS` of candidates that contain the ``required`` share of the 20 nearest; ``None``
    where none does. The share with this number, or with the most; and the number of cases, drawn at random, that it
    was measured with, each without itself."""
    n = len(cases)
    places = np.random.default_rng(0).choice(n, min(QUERIES, n), replace=False)
    everything = []
    for place in places.tolist():
        among = np.ones(n, dtype=np.bool_)
        among[place] = False
        everything.append((coordinates[place], among, exact.search(coordinates[place], RECALL_AT, among)))
    share = 0.0
    for number in NUMBERS:
        reporter.check_cancelled()
        index = CandidateIndex(source, cases, coordinates.shape[1], number, lambda: exact)
        hits = sum(
            # Equal distances may be exchanged.
            int((index.search(q, RECALL_AT, among).distances <= nearest.distances[-1]).sum())
            for q, among, nearest in everything
        )
        share = hits / max(1, sum(len(nearest.rows) for _, _, nearest in everything))
        if share >= required:
            return number, share, len(places)
    return None, share, len(places)


@dataclass(frozen=True)
class FoundCandidates:
    """An index that is up to date: its description ``index``, and the cases ``rows`` (n,) that it has, ascending."""

    index: EmbeddingIndex
    rows: npt.NDArray[np.int64]

    def open(
        self, library: Library, rows: npt.NDArray[np.int64], exact: Callable[[], Index]
    ) -> CandidateIndex:
        """The index of ``rows`` (n,), some of its cases; ``exact`` as :class:`CandidateIndex` takes it."""
        from semblance.core.library.server.library import ServerLibrary

        assert isinstance(library, ServerLibrary)
        candidates = self.index.candidates
        assert candidates is not None
        return CandidateIndex(library.embedding(self.index), rows, self.index.dimensions, candidates, exact)


def can_have_candidates(metric: Metric) -> bool:
    """Whether an index of vectors finds the nearest cases of ``metric``."""
    return metric.distance.embeds and not metric.distance.ties


def find_candidates(
    library: Library, record: MetricRecord, metric: Metric, feature_set: FeatureSet
) -> FoundCandidates | None:
    """The index of a metric; ``None`` where there is none, where it is older than the features, or where it did not
    reach the required recall."""
    if not can_have_candidates(metric):
        return None
    index = next((one for one in library.embedding_indexes() if one.metric == record.file.stem), None)
    if index is None or index.candidates is None:
        return None
    chunks = library.features.chunk_rows(feature_set)
    if features_stamp(chunks) != index.features:
        return None
    rows = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()]))
    return FoundCandidates(index, rows[rows >= 0])
