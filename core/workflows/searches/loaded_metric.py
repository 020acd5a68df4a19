"""What one loaded metric needs to answer queries: its library's cases, kept in memory between searches."""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.calibration import stored_calibration
from semblance.core.language import tr_lazy
from semblance.core.library import open_library
from semblance.core.library.records import DERIVED, CaseDetails, MetricRecord
from semblance.core.metrics.exclude_groups import exclude_groups
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.retrieval.scan_index import index_for
from semblance.core.searches.ledger import Ledger
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import IdentityIndex
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.searches.embedding_cache import (
    DRAWN_BYTES,
    CachedEmbedding,
    load_embedding,
    sample_places,
    save_embedding,
)
from semblance.core.workflows.searches.near_duplicates import DuplicateFinder
from semblance.core.workflows.searches.neighbourhoods import Neighbourhoods
from semblance.core.workflows.searches.transformed_cases import TransformedCases

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Libraries and metrics kept ready in one process.
KEPT = 8
#: Beyond so many only while they are small together: a slider has six steps.
KEPT_LARGE, SMALL_BYTES = 4, 512 << 20
#: Where all together take more bytes, only the one in use keeps what can be made again. Two refined metrics
#: of 100,000 cases with 200 components fit.
MEMORY_BYTES = 1 << 30
#: Sets of feature groups left out that one metric keeps ready; more than one only while they are small.
WITHOUT_KEPT = 4
#: Ledgers that one metric keeps in memory.
LEDGERS_KEPT = 64
#: Cases whose details one metric keeps in memory.
DETAILS_KEPT = 20_000
#: Cases, spread over the library, that are asked whether they have regions.
REGION_SAMPLE = 100


class LoadedMetric:
    """Cases of a library that have the metric's features, in the metric's coordinates."""

    def __init__(self, library: Library, record: MetricRecord, reporter: Reporter = SILENT) -> None:
        self.library, self.record = library, record
        self.metric: Metric = stored_metric(record)
        sets = {feature_set.id: feature_set for feature_set in library.features.all()}
        self.feature_set = sets[record.feature_set]
        # Cases last: another program may add some, with numbers, in between.
        embedded = self._embedded_once(reporter)
        self._load_cases()
        self._set_up(embedded)
        self.calibration = stored_calibration(record.scores)
        self.duplicate_finder = DuplicateFinder(library, self.rows, self.findings)
        self._whole: LoadedMetric | None = None
        self._near: Neighbourhoods | None = None
        self._ledgers: OrderedDict[str, Ledger] = OrderedDict()
        self._details: dict[int, CaseDetails] = {}
        #: Its cases after the metric's steps, read when they are first needed.
        self.stepped = TransformedCases(library, self.feature_set, self.metric, self.rows)
        self._reduced: OrderedDict[frozenset[str], LoadedMetric] = OrderedDict()
        #: What other modules computed for these cases, by names of their own; dropped with this metric.
        self.kept: dict[str, Any] = {}

    def close(self) -> None:
        """Close the library and drop all caches, which refer back to this metric."""
        self.drop_caches()
        self.library.close()

    def drop_caches(self) -> None:
        """Drop what can be made again from the rest."""
        for reduced in self._reduced.values():
            reduced.kept.clear()
        self._reduced.clear()
        self.kept.clear()
        self.stepped.forget()

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with the library."""
        arrays = (self.embedding, self.ties, self.drawn)
        own = sum(array.nbytes for array in arrays if array is not None) + self.stepped.nbytes
        own += sum(getattr(one, "nbytes", 0) for one in self.kept.values())
        return (
            own
            if self._whole is not None
            else own + sum(reduced.nbytes for reduced in self._reduced.values())
        )

    def _load_cases(self) -> None:
        cases = self.library.catalogue.all_cases()
        self.case_ids = {int(r.id): r.case_id for r in cases}
        self._row_of = {r.case_id: int(r.id) for r in cases}
        self._facts: dict[int, tuple[str | None, str | None, str]] = {
            int(r.id): (r.finding, r.patient, r.content) for r in cases
        }

    def _embedded_once(self, reporter: Reporter) -> CachedEmbedding:
        """Read the features block by block, or what an earlier run left in the folder of derived data."""
        chunks = self.library.features.chunk_rows(self.feature_set)
        stamp = hashlib.blake2b(digest_size=12)
        for number in sorted(chunks):
            stamp.update(chunks[number].tobytes())
        kept = self.library.path / DERIVED / f"{self.record.file.stem}.{stamp.hexdigest()}.npz"
        embedding = load_embedding(kept)
        if embedding is None:
            embedding = self._embedded(
                np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()]), reporter
            )
            if self.library.writable:
                save_embedding(kept, embedding)
        return embedding

    def _set_up(self, embedded: CachedEmbedding) -> None:
        rows, embedding, ties, drawn = embedded
        there = np.array([int(row) in self._facts for row in rows], dtype=bool)
        self.rows, self.embedding, ties = rows[there], embedding[there], ties[there]
        #: (s, d) numbers of the cases at :func:`semblance.core.workflows.searches.embedding_cache.sample_places`;
        #: ``None`` where they have to be read.
        self.drawn = drawn.astype(np.float64) if len(drawn) and there.all() else None
        self.ties = ties if ties.shape[1] else None
        self.index = index_for(self.metric.distance, self.embedding, self.ties)
        self._place = {int(row): place for place, row in enumerate(self.rows)}
        facts = [self._facts[int(row)] for row in self.rows]
        self.findings = [finding for finding, _, _ in facts]
        self._finding_numbers: dict[str | None, int] = {None: -1}
        numbers = self._finding_numbers
        #: (n,) a number for each finding, -1 where a case has none.
        self.finding_codes = np.array(
            [numbers.setdefault(finding, len(numbers) - 1) for finding in self.findings], dtype=np.int64
        )
        self.patients = np.array([patient for _, patient, _ in facts], dtype=object)
        keys: dict[str, int] = {}
        self.keys = np.array([keys.setdefault(content, len(keys)) for _, _, content in facts], dtype=np.int64)
        self._key_of_content = keys

    def _embedded(self, known: npt.NDArray[np.int64], reporter: Reporter) -> CachedEmbedding:
        known = np.sort(known[known >= 0]).astype(np.int64)
        wanted = known[sample_places(len(known))]
        drawn: dict[int, npt.NDArray[np.generic]] = {}
        ids, parts, ties = [], [], []
        for done, (rows, numbers) in enumerate(self.library.features.blocks(self.feature_set)):
            reporter.check_cancelled()
            reporter.progress(done, None, tr_lazy("Preparing {record}", record=self.record.name))
            wide = numbers.astype(np.float64)
            tie = self.metric.tie_break(wide)
            ids.append(rows)
            if numbers[:1].nbytes * len(wanted) <= DRAWN_BYTES:
                drawn |= {int(rows[at]): numbers[at].copy() for at in np.flatnonzero(np.isin(rows, wanted))}
            parts.append(self.metric.coordinates(wide))
            ties.append(np.empty((len(rows), 0)) if tie is None else tie)
        if not ids:
            raise BadInput(
                tr_lazy(
                    "No case of {library} has the features '{feature_set}'.",
                    library=self.library.path.name,
                    feature_set=self.feature_set.name,
                ),
                "Extract them first.",
            )
        rows = np.concatenate(ids)
        order = np.argsort(rows)
        # Only what was drawn from these very cases; another program may have added some meanwhile.
        whole = np.array_equal(rows[order], known) and all(int(row) in drawn for row in wanted)
        return CachedEmbedding(
            rows[order],
            np.concatenate(parts)[order],
            np.concatenate(ties)[order],
            np.stack([drawn[int(row)] for row in wanted]) if whole else np.empty((0, 0)),
        )

    def row_of(self, case_id: str) -> int:
        """Row id of a case.

        Raises:
            BadInput: the library has no such case.
        """
        row = self._row_of.get(case_id)
        return self.library.catalogue.row_of(case_id) if row is None else row

    def place_of(self, row: int) -> int | None:
        """Where the case stands in :attr:`embedding`; ``None`` without features."""
        return self._place.get(row)

    def case_query(self, place: int) -> EmbeddedQuery:
        """The query that a case with features is."""
        tie = None if self.ties is None else self.ties[place]
        patient, key = self.patients[place], int(self.keys[place])
        return EmbeddedQuery(self.embedding[place], tie, place, patient, key)

    def places_of(self, rows: Collection[int]) -> set[int]:
        """Where those of the cases ``rows`` stand that have features."""
        return {place for row in rows if (place := self._place.get(row)) is not None}

    def rows_of_patients(self, patients: Collection[str]) -> set[int]:
        """Row ids of all cases of ``patients``, with features or without; "" is no patient."""
        known = {patient for patient in patients if patient}
        return {row for row, facts in self._facts.items() if facts[1] in known} if known else set()

    def rows_of_contents(self, contents: Collection[str]) -> set[int]:
        """Row ids of all cases that show one of ``contents``, with features or without."""
        known = set(contents)
        return {row for row, facts in self._facts.items() if facts[2] in known} if known else set()

    def patient_of(self, row: int) -> str | None:
        return self._facts[row][1]

    def finding_of(self, row: int) -> str | None:
        return self._facts[row][0]

    def code_of(self, finding: str) -> int:
        """The number of a finding in :attr:`finding_codes`."""
        return self._finding_numbers[finding]

    def key_of(self, row: int) -> int:
        """The number of what the case shows: equal content, equal number; -1 where none shows it."""
        return self._key_of_content.get(self._facts[row][2], -1)

    def without(self, groups: Collection[str], reporter: Reporter = SILENT) -> LoadedMetric:
        """The same cases compared without some groups of features; nothing of it is written to the disk.

        Raises:
            BadArguments: a group the metric does not have, or all it has.
        """
        wanted = frozenset(groups)
        if not wanted:
            return self
        reduced = self._reduced.pop(wanted, None)
        if reduced is None:
            reduced = copy.copy(self)
            reduced.metric = exclude_groups(self.metric, wanted)
            reduced.stepped = self.stepped.without(reduced.metric, wanted)
            rows = reduced.stepped.rows(reporter)
            distance = reduced.metric.distance
            reduced.embedding = distance.embed(rows) if distance.embeds else rows
            reduced.ties = rows if distance.ties else None
            reduced.index = index_for(distance, reduced.embedding, reduced.ties)
            reduced._whole, reduced._near, reduced.kept = self, None, {}
            reduced.duplicate_finder = DuplicateFinder(reduced.library, reduced.rows, reduced.findings)
        self._reduced[wanted] = reduced
        while len(self._reduced) > WITHOUT_KEPT or (
            len(self._reduced) > 1 and sum(one.nbytes for one in self._reduced.values()) > SMALL_BYTES
        ):
            self._reduced.popitem(last=False)[1].kept.clear()
        return reduced

    def details(self, rows: Collection[int]) -> dict[int, CaseDetails]:
        """Row id -> the case in full; read once, as long as the library stays the same."""
        new = [row for row in rows if row not in self._details]
        if new:
            if len(self._details) + len(new) > DETAILS_KEPT:
                self._details.clear()
                new = list(rows)
            self._details |= self.library.catalogue.details(new)
        return {row: self._details[row] for row in rows if row in self._details}

    def ledger(self, name: str) -> Ledger:
        """The judgements kept under ``name``, read when they are first asked for."""
        if name not in self._ledgers:
            self._ledgers[name] = Ledger(self.library.judgements(name))
            while len(self._ledgers) > LEDGERS_KEPT:
                self._ledgers.popitem(last=False)
        self._ledgers.move_to_end(name)
        return self._ledgers[name]

    @cached_property
    def trained_rows(self) -> frozenset[int]:
        """Ids of the cases the metric was trained on."""
        return frozenset(self.record.training.tolist())

    @cached_property
    def trained_patients(self) -> frozenset[str]:
        """Their patients, as far as they are known."""
        facts = (self._facts.get(row) for row in self.trained_rows)
        return frozenset(fact[1] for fact in facts if fact is not None and fact[1])

    @cached_property
    def identity_index(self) -> IdentityIndex:
        """Which cases are of one patient or show one image."""
        return IdentityIndex(self.library)

    @property
    def neighbourhoods(self) -> Neighbourhoods:
        """The nearest, of another patient and content, of a sample of the cases.

        Without some groups of features those near with all of them are measured anew, or every toggle would
        search hundreds of times. Where another case is nearer then the distance comes out too large: fewer
        queries are said to have no good match, never more.
        """
        if self._near is None:
            self._near = (
                Neighbourhoods.sampled(self)
                if self._whole is None
                else self._whole.neighbourhoods.measured_anew(self)
            )
        return self._near

    @cached_property
    def with_regions(self) -> bool:
        """Whether the cases are regions of images, as far as some spread over the library tell."""
        some = self.rows[:: max(1, len(self.rows) // REGION_SAMPLE)].tolist()
        details = self.library.catalogue.details(some)
        there = [case for case in details.values() if case.address is not None]
        return 2 * sum(case.region is not None for case in there) > len(there)


_open_metrics: OrderedDict[tuple[Path, str], tuple[Any, LoadedMetric]] = OrderedDict()


def _free_memory() -> None:
    """Free memory, the least recently used metric first: its caches, then the whole metric."""
    loaded_metrics = [loaded for _, loaded in _open_metrics.values()]
    for older in loaded_metrics[:-1]:
        if sum(loaded.nbytes for loaded in loaded_metrics) <= MEMORY_BYTES:
            break
        older.drop_caches()
    while len(_open_metrics) > KEPT or (
        len(_open_metrics) > KEPT_LARGE
        and sum(loaded.nbytes for _, loaded in _open_metrics.values()) > SMALL_BYTES
    ):
        _open_metrics.popitem(last=False)[1][1].close()


def open_metric(
    library: Path, metric: str, reporter: Reporter = SILENT, *, without: Collection[str] = ()
) -> LoadedMetric:
    """The loaded ``metric``, read anew when the library changed since the last call.

    ``without``: groups of features that count for nothing.

    Raises:
        BadArguments: no such metric, a group it does not have, or all groups left out.
        BadInput: not a library, or no case has the metric's features.
    """
    return _open_whole_metric(library, metric, reporter).without(without, reporter)


def _open_whole_metric(library: Path, metric: str, reporter: Reporter) -> LoadedMetric:
    key = (library.absolute(), metric)
    known = _open_metrics.pop(key, None)
    if known is not None:
        if known[0] == known[1].library.catalogue.stamp():
            _open_metrics[key] = known
            # Its caches grow with every search.
            _free_memory()
            return known[1]
        # Another library may lie there by now.
        known[1].close()
    opened = open_library(library)
    try:
        stamp = opened.catalogue.stamp()
        loaded = LoadedMetric(opened, opened.metric(metric), reporter)
    except BaseException:
        opened.close()
        raise
    _open_metrics[key] = (stamp, loaded)
    _free_memory()
    return loaded


@contextlib.contextmanager
def without_reload(library: Path) -> Iterator[None]:
    """A write inside changes no case and no feature: metrics that were up to date are not read anew."""
    here = library.absolute()
    current = [
        key
        for key, (stamp, loaded) in _open_metrics.items()
        if key[0] == here and stamp == loaded.library.catalogue.stamp()
    ]
    yield
    for key in current:
        loaded = _open_metrics[key][1]
        _open_metrics[key] = (loaded.library.catalogue.stamp(), loaded)


def close_loaded_metrics(library: Path | None = None) -> None:
    """Close every library kept open here, or the one at ``library`` only."""
    here = None if library is None else library.absolute()
    for key in [key for key in _open_metrics if here in (None, key[0])]:
        _open_metrics.pop(key)[1].close()


def trim_loaded_metrics() -> None:
    """Drop the caches of all loaded metrics; the metrics stay."""
    for _, loaded in _open_metrics.values():
        loaded.drop_caches()
