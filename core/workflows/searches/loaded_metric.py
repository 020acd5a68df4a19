"""A loaded metric with the cases of its library, in memory between searches."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.calibration import stored_calibration
from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.library.records import CaseDetails, MetricRecord
from semblance.core.metrics.exclude_feature_groups import exclude_feature_groups
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.neighbourhoods import Neighbourhoods
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.retrieval.scan_index import index_for
from semblance.core.searches.ledger import Ledger
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import (
    IdentityIndex,
    Ids,
    contents_elsewhere,
    is_supervised,
)
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.searches.case_table import CaseTable
from semblance.core.workflows.searches.embedding_cache import (
    CachedEmbedding,
    embed_cases,
)
from semblance.core.workflows.searches.transformed_cases import TransformedCases

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.workflows.metrics.refit_metric import RefittedMetric

#: Bytes that loaded metrics beyond the first few may take together.
SMALL_BYTES = 512 << 20
#: Sets of excluded feature groups that one metric caches; more than one only if they are small.
MAX_REDUCED = 4
#: Ledgers that one metric caches.
MAX_LEDGERS = 64
#: Cases whose details one metric caches.
MAX_DETAILS = 20_000
#: Number of cases, spread over the library, that are checked for regions.
REGION_SAMPLE = 100


class LoadedMetric:
    """Cases of a library that have the metric's features, in the metric's coordinates."""

    def __init__(self, library: Library, record: MetricRecord, reporter: Reporter = SILENT) -> None:
        self.library, self.record = library, record
        self.metric: Metric = stored_metric(record)
        self.feature_set = library.features.of_metric(record)
        # The cases are read last, because another program may add some with features in between.
        embedded = embed_cases(library, record, self.metric, self.feature_set, reporter)
        self.cases = CaseTable(library.catalogue)
        #: Row ids of the cases in the sealed test vault, which are neither ranked nor queries.
        self.sealed = frozenset(sealed_rows(library).tolist())
        self._set_up(embedded)
        self.calibration = stored_calibration(record.scores)
        self.prevalences = library.prevalences
        self._whole: LoadedMetric | None = None
        self._near: Neighbourhoods | None = None
        self._ledgers: OrderedDict[str, Ledger] = OrderedDict()
        self._details: dict[int, CaseDetails] = {}
        #: Its cases after the metric's steps, read on first use.
        self.transformed = TransformedCases(library, self.feature_set, self.metric, self.rows)
        self._reduced: OrderedDict[frozenset[str], LoadedMetric] = OrderedDict()
        #: The metric trained without the patient of the last such query, with its training cases.
        self._refitted: tuple[bytes, LoadedMetric] | None = None
        #: Whether this is the stored metric trained again without a query's patient.
        self.without_patient = False
        #: Data that other modules computed for these cases, by keys of their own; dropped with this metric.
        self.cache: dict[str, Any] = {}

    def close(self) -> None:
        """Close the library and drop all caches, which refer back to this metric."""
        self.drop_caches()
        self.library.close()

    def drop_caches(self) -> None:
        """Drop everything that can be computed again."""
        for reduced in self._reduced.values():
            reduced.cache.clear()
        self._reduced.clear()
        if self._refitted is not None:
            self._refitted[1].drop_caches()
        self._refitted = None
        self.cache.clear()
        self.transformed.forget()

    @property
    def nbytes(self) -> int:
        """Bytes of the parts that grow with the library."""
        arrays = (self.embedding, self.ties, self.drawn)
        own = sum(array.nbytes for array in arrays if array is not None) + self.transformed.nbytes
        own += sum(getattr(one, "nbytes", 0) for one in self.cache.values())
        own += 0 if self._refitted is None else self._refitted[1].nbytes
        return (
            own
            if self._whole is not None
            else own + sum(reduced.nbytes for reduced in self._reduced.values())
        )

    def _set_up(self, embedded: CachedEmbedding) -> None:
        rows, embedding, ties, drawn = embedded
        there = np.array([int(row) in self.cases and int(row) not in self.sealed for row in rows], dtype=bool)
        self.rows, self.embedding, ties = rows[there], embedding[there], ties[there]
        #: (s, d) numbers of the cases at :func:`semblance.core.workflows.searches.embedding_cache.sample_places`;
        #: ``None`` where they have to be read.
        self.drawn = drawn.astype(np.float64) if len(drawn) and there.all() else None
        self.ties = ties if ties.shape[1] else None
        self.index = index_for(self.metric.distance, self.embedding, self.ties)
        self._place = {int(row): place for place, row in enumerate(self.rows)}
        self.findings = [self.cases.finding_of(row) for row in self.rows.tolist()]
        self._finding_numbers: dict[str | None, int] = {None: -1}
        numbers = self._finding_numbers
        #: (n,) a number for each finding, -1 where a case has none.
        self.finding_codes = np.array(
            [numbers.setdefault(finding, len(numbers) - 1) for finding in self.findings], dtype=np.int64
        )
        self.patients = np.array([self.cases.patient_of(row) for row in self.rows.tolist()], dtype=object)
        codes: dict[str, int] = {}
        #: (n,) a number for each patient, -1 where unknown: numbers compare much faster than names.
        self.patient_codes = np.array(
            [codes.setdefault(name, len(codes)) if name else -1 for name in self.patients.tolist()],
            dtype=np.int32,
        )
        self._code_of_patient = codes
        #: (n,) a number for each lesion; its nearest case represents all.
        self.keys = np.array([self.cases.lesion_of(row) for row in self.rows.tolist()], dtype=np.int64)

    def place_of(self, row: int) -> int | None:
        """The position of the case in :attr:`embedding`; ``None`` without features."""
        return self._place.get(row)

    def patient_of_case(self, case: str) -> str | None:
        """The patient of a case by its id; ``None`` if unknown, or for a case without features."""
        try:
            place = self.place_of(self.cases.row_of(case))
        except BadInput:
            return None
        patient = None if place is None else self.patients[place]
        return str(patient) if patient else None

    def case_query(self, place: int) -> EmbeddedQuery:
        """A case with features as a query."""
        tie = None if self.ties is None else self.ties[place]
        row = int(self.rows[place])
        return EmbeddedQuery(
            self.embedding[place], tie, place, self.query_patient(row), int(self.keys[place])
        )

    def places_of(self, rows: Collection[int]) -> set[int]:
        """The positions of those of the cases ``rows`` that have features."""
        return {place for row in rows if (place := self._place.get(row)) is not None}

    def code_of(self, finding: str) -> int:
        """The number of a finding in :attr:`finding_codes`."""
        return self._finding_numbers[finding]

    def query_patient(self, row: int) -> int | None:
        """The number in :attr:`patient_codes` of the case's patient; ``None`` if no case with features has it."""
        return self._code_of_patient.get(self.cases.patient_of(row) or "")

    def without(self, groups: Collection[str], reporter: Reporter = SILENT) -> LoadedMetric:
        """The same cases compared without some groups of features; nothing is written to disk.

        Raises:
            BadArguments: a group the metric does not have, or all it has.
        """
        excluded = frozenset(groups)
        if not excluded:
            return self
        reduced = self._reduced.pop(excluded, None)
        if reduced is None:
            reduced = copy.copy(self)
            reduced.metric = exclude_feature_groups(self.metric, excluded)
            reduced.transformed = self.transformed.without(reduced.metric, excluded)
            reduced._compare_transformed(reporter)
            reduced._whole, reduced._near, reduced.cache = self, None, {}
        self._reduced[excluded] = reduced
        while len(self._reduced) > MAX_REDUCED or (
            len(self._reduced) > 1 and sum(one.nbytes for one in self._reduced.values()) > SMALL_BYTES
        ):
            self._reduced.popitem(last=False)[1].cache.clear()
        return reduced

    def refitted(self, refitted: RefittedMetric, reporter: Reporter = SILENT) -> LoadedMetric:
        """The same cases under the metric trained again without some of its training cases; only the last one is
        cached, and nothing is written to disk.

        Raises:
            Cancelled: the reporter was cancelled.
        """
        key = refitted.training.tobytes()
        if self._refitted is None or self._refitted[0] != key:
            other = copy.copy(self)
            other.__dict__.pop("trained_cases", None)
            other.metric, other.calibration = refitted.metric, refitted.calibration
            other.record = replace(self.record, training=refitted.training)
            other.transformed = TransformedCases(self.library, self.feature_set, other.metric, self.rows)
            other._compare_transformed(reporter)
            other._near, other._refitted, other._reduced, other.cache = None, None, OrderedDict(), {}
            other.without_patient = True
            self._refitted = (key, other)
        return self._refitted[1]

    def _compare_transformed(self, reporter: Reporter) -> None:
        """Compare the cases after the steps of :attr:`metric`."""
        rows, distance = self.transformed.rows(reporter), self.metric.distance
        self.embedding = distance.embed(rows) if distance.embeds else rows
        self.ties = rows if distance.ties else None
        self.index = index_for(distance, self.embedding, self.ties)

    def details(self, rows: Collection[int]) -> dict[int, CaseDetails]:
        """Row id -> the full record of the case; cached as long as the library stays the same."""
        new = [row for row in rows if row not in self._details]
        if new:
            if len(self._details) + len(new) > MAX_DETAILS:
                self._details.clear()
                new = list(rows)
            self._details |= self.library.catalogue.details(new)
        return {row: self._details[row] for row in rows if row in self._details}

    def ledger(self, name: str) -> Ledger:
        """The judgements in the ledger ``name``, read on first use."""
        if name not in self._ledgers:
            self._ledgers[name] = Ledger(self.library.judgements(name))
            while len(self._ledgers) > MAX_LEDGERS:
                self._ledgers.popitem(last=False)
        self._ledgers.move_to_end(name)
        return self._ledgers[name]

    @cached_property
    def trained_cases(self) -> Ids:
        """(t,) ascending ids of the cases whose findings or judgements the metric was trained on, and of all other
        cases of their patients and images; empty for a metric trained on features alone."""
        if not is_supervised(self.metric):
            return np.empty(0, dtype=np.int64)
        identities = self.identity_index
        unseen = identities.unseen(self.record.training, contents_elsewhere(self.record.card))
        return np.setdiff1d(identities.ids, unseen)

    @cached_property
    def identity_index(self) -> IdentityIndex:
        """The index of cases that share a patient, a lesion or an image."""
        return IdentityIndex(self.library)

    @property
    def neighbourhoods(self) -> Neighbourhoods:
        """The nearest cases of another patient and lesion for a sample of the cases.

        Without some groups of features only the distances of the same neighbours are measured again, because every
        toggle would otherwise search hundreds of times. If another case is nearer then, the distance is too large, so
        fewer queries have no close match, never more.
        """
        if self._near is None:
            self._near = (
                Neighbourhoods.sampled(self.index, self.case_query, self.patient_codes, self.keys)
                if self._whole is None
                else self._whole.neighbourhoods.measured_anew(self.index, self.embedding)
            )
        return self._near

    @cached_property
    def with_regions(self) -> bool:
        """Whether the cases are regions of images, judged by a sample over the library."""
        some = self.rows[:: max(1, len(self.rows) // REGION_SAMPLE)].tolist()
        details = self.library.catalogue.details(some)
        there = [case for case in details.values() if case.address is not None]
        return 2 * sum(case.region is not None for case in there) > len(there)
