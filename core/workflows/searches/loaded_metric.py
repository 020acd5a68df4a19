"""A loaded metric with the table of the cases of its library, in memory between searches."""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.evaluation.calibration import stored_calibration
from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.evaluation.evaluate_metric import MetricScores, stored_scores
from semblance.core.language import tr_lazy
from semblance.core.library.lesion_groups import read_groups
from semblance.core.library.packed_texts import PackedTexts
from semblance.core.library.records import CaseDetails, MetricRecord
from semblance.core.library.schema import cases
from semblance.core.metrics.metric import Metric, exclude_feature_groups
from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.index import CaseRow, DistanceIndex, Index, Position, index_for
from semblance.core.retrieval.match_distance import Neighbourhoods
from semblance.core.retrieval.ranking import EmbeddedQuery
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.derived_arrays import (
    CASES_FILE,
    NEAR_SUFFIX,
    TRAINED_SUFFIX,
    load_arrays,
    save_arrays,
)
from semblance.core.workflows.metrics.leakage import IdentityIndex, Ids, contents_elsewhere, is_supervised
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.searches.embedding_cache import FEWEST_KEPT, CachedEmbedding, embed_cases
from semblance.core.workflows.searches.index_candidates import find_candidates
from semblance.core.workflows.searches.transformed_cases import TransformedCases

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue
    from semblance.core.library.library import Library
    from semblance.core.workflows.metrics.refit_metric import RefittedMetric


#: Fewer cases are read as fast from the catalogue.
_FEWEST = 20_000


class _Columns(NamedTuple):
    """Of n cases, ascending: row ids, findings and patients as places among the names, -1 for none, and lesions."""

    rows: npt.NDArray[np.int64]
    findings: npt.NDArray[np.int32]
    patients: npt.NDArray[np.int32]
    lesions: npt.NDArray[np.int64]
    ids: PackedTexts
    finding_names: PackedTexts
    patient_names: PackedTexts


class CaseTable:
    """All catalogued cases by their row ids, with features or without."""

    def __init__(self, library: Library) -> None:
        self._catalogue = library.catalogue
        columns = _stored(library) or _read(library)
        #: (n,) row ids, ascending.
        self.rows = columns.rows
        #: (n,) a number for each finding, patient and lesion; -1 where there is none.
        self.finding_codes, self.patient_codes, self.lesions = columns[1:4]
        self._ids, self._finding_names, self._patient_names = columns[4:]
        #: The rows of the cases looked up so far, ``None`` where there is no such case.
        self._looked_up: dict[str, int | None] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, int) and self._place(row) is not None

    def places(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """(m,) where the cases ``rows`` (m,) stand here, -1 for those that are not here."""
        if not len(self.rows):
            return np.full(len(rows), -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, places, -1)

    def id_of(self, row: CaseRow) -> str:
        """Its case id."""
        return self._ids[self._known_place(row)]

    def row_of(self, case_id: str) -> CaseRow:
        """Row id of a case.

        Raises:
            BadInput: the library has no such case.
        """
        if case_id not in self._looked_up:
            self.look_up([case_id])
        row = self._looked_up[case_id]
        if row is None:
            raise self._catalogue.no_such_case(case_id)
        return CaseRow(row)

    def look_up(self, case_ids: Iterable[str]) -> None:
        """Find the rows of many cases by few queries, before :meth:`row_of` is called for each of them."""
        new = sorted(set(case_ids) - self._looked_up.keys())
        found = self._catalogue.rows_of(new)
        self._looked_up |= {case_id: found.get(case_id) for case_id in new}

    def note(self, rows: Mapping[str, int]) -> None:
        """Case ids with their rows, which need not be looked up any more."""
        self._looked_up |= rows

    @cached_property
    def finding_names(self) -> tuple[str, ...]:
        """The findings that :attr:`finding_codes` number."""
        return tuple(self._finding_names)

    @cached_property
    def patient_names(self) -> tuple[str, ...]:
        """The patients that :attr:`patient_codes` number."""
        return tuple(self._patient_names)

    def finding_of(self, row: int) -> str | None:
        """The finding of a case; ``None`` if it has none."""
        code = int(self.finding_codes[self._known_place(row)])
        return None if code < 0 else self.finding_names[code]

    def patient_of(self, row: CaseRow) -> str | None:
        """The patient of a case; ``None`` if unknown."""
        code = int(self.patient_codes[self._known_place(row)])
        return None if code < 0 else self._patient_names[code]

    def lesion_of(self, row: int) -> int:
        """The number of the lesion of a case, equal within a same-lesion group and for equal content."""
        return int(self.lesions[self._known_place(row)])

    def rows_of_patients(self, patients: Collection[str]) -> set[CaseRow]:
        """Row ids of all cases of ``patients``; "" is no patient."""
        codes = [self._code_of_patient[name] for name in patients if name in self._code_of_patient]
        return set(self.rows[np.isin(self.patient_codes, codes)].tolist()) if codes else set()

    def rows_of_contents(self, contents: Collection[str]) -> set[CaseRow]:
        """Row ids of all cases that show one of ``contents``."""
        return set(map(CaseRow, self._catalogue.rows_of_contents(contents))) if contents else set()

    @cached_property
    def _code_of_patient(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.patient_names)}

    def _place(self, row: int) -> int | None:
        place = int(np.searchsorted(self.rows, row))
        return Position(place) if place < len(self.rows) and self.rows[place] == row else None

    def _known_place(self, row: int) -> int:
        """
        Raises:
            KeyError: there is no such case.
        """
        place = self._place(row)
        if place is None:
            raise KeyError(row)
        return place


def _read(library: Library) -> _Columns:
    """The columns, read from the catalogue and stored."""
    catalogue = library.catalogue
    stamp = settled_stamp(catalogue)
    query = sa.select(cases.c.id, cases.c.case_id, cases.c.finding, cases.c.patient, cases.c.content)
    rows, ids, findings, patients, contents = catalogue.read_columns(query.order_by(cases.c.id))
    finding_codes, finding_names = _codes(findings)
    # "" is no patient.
    patient_codes, patient_names = _codes([patient or None for patient in patients])
    columns = _Columns(
        np.array(rows, dtype=np.int64),
        finding_codes,
        patient_codes,
        _lesions(catalogue, rows, contents),
        PackedTexts.of(ids),
        PackedTexts.of(finding_names),
        PackedTexts.of(patient_names),
    )
    if stamp and library.can_store_derived and len(rows) >= _FEWEST:
        arrays: dict[str, npt.NDArray[Any]] = dict(zip(_Columns._fields[:4], columns[:4], strict=True))
        for name, texts in zip(_Columns._fields[4:], columns[4:], strict=True):
            arrays |= {name: np.frombuffer(texts.data, dtype=np.uint8), f"{name}_ends": texts.ends}
        save_arrays(library.derived / CASES_FILE, arrays, stamp)
    return columns


def _stored(library: Library) -> _Columns | None:
    """The columns that :func:`_read` stored, unless any program wrote to the catalogue since then."""
    stamp = settled_stamp(library.catalogue)
    arrays = load_arrays(library.derived / CASES_FILE, stamp) if stamp else None
    if arrays is None:
        return None
    try:
        numbers = [arrays[name] for name in _Columns._fields[:4]]
        texts = [PackedTexts(arrays[name].tobytes(), arrays[f"{name}_ends"]) for name in _Columns._fields[4:]]
    except KeyError:
        return None
    kinds = (np.int64, np.int32, np.int32, np.int64)
    n = len(numbers[0])
    fits = all(one.dtype == kind and one.shape == (n,) for one, kind in zip(numbers, kinds, strict=True))
    fits = fits and all(one.ends.dtype == np.int64 and one.ends.ndim == 1 for one in texts)
    fits = fits and len(texts[0]) == n
    if not fits:
        return None
    return _Columns(numbers[0], numbers[1], numbers[2], numbers[3], texts[0], texts[1], texts[2])


def settled_stamp(catalogue: Catalogue) -> str:
    """What changes whenever any program wrote to the catalogue what searches are computed from; "" where the next write
    may not change it."""
    stamp = catalogue.stamp()
    if not catalogue.is_settled(stamp):
        return ""
    made_of = catalogue.identity(), catalogue.cases_stamp(stamp)
    return hashlib.blake2b(repr(made_of).encode(), digest_size=12).hexdigest()


def _codes(names: list[str | None]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """(n,) a number for each of ``names``, -1 for ``None``, and the names in the order of their numbers."""
    numbers: dict[str | None, int] = {None: -1}
    codes = [numbers.setdefault(name, len(numbers) - 1) for name in names]
    return np.array(codes, dtype=np.int32), [name for name in numbers if name is not None]


def _lesions(catalogue: Catalogue, rows: list[int], contents: list[str]) -> npt.NDArray[np.int64]:
    """(n,) a number for each case, equal where they are of one lesion; cases in no group by their content."""
    numbers: dict[str, int] = {}
    lesions = np.array([numbers.setdefault(content, len(numbers)) for content in contents], dtype=np.int64)
    groups = read_groups(catalogue)
    if groups:
        grouped = np.array(sorted(groups), dtype=np.int64)
        listed = np.array(rows, dtype=np.int64)
        grouped = grouped[np.isin(grouped, listed)]
        lesions[np.searchsorted(listed, grouped)] = [
            len(numbers) + groups[row].group for row in grouped.tolist()
        ]
    return lesions


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


_Kind = TypeVar("_Kind")


class MetricCache:
    """What was computed for the cases of one loaded metric: at most one object of each class."""

    def __init__(self) -> None:
        self._found: dict[type, Any] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(self, kind: type[_Kind]) -> _Kind | None:
        """The object of the class ``kind``, if there is one."""
        return self._found.get(kind)

    def keep(self, one: _Kind) -> _Kind:
        """Put ``one`` in place of the object of its class."""
        self._found[type(one)] = one
        return one

    def or_made(self, kind: type[_Kind], make: Callable[[], _Kind]) -> _Kind:
        """The object of the class ``kind``, made if there is none."""
        found = self.get(kind)
        return self.keep(make()) if found is None else found

    def clear(self) -> None:
        """Drop everything."""
        self._found.clear()

    @property
    def nbytes(self) -> int:
        """Bytes of what says its own size."""
        return sum(getattr(one, "nbytes", 0) for one in self._found.values())


class LoadedMetric:
    """Cases of a library that have the metric's features, in the metric's coordinates."""

    def __init__(self, library: Library, record: MetricRecord, reporter: Reporter = SILENT) -> None:
        self.library, self.record = library, record
        self.metric: Metric = stored_metric(record)
        self.feature_set = library.features.of_metric(record)
        found = find_candidates(library, record, self.metric, self.feature_set)
        self._embedded: CachedEmbedding | None = None
        if found is None:
            self._embedded, stamp = embed_cases(library, record, self.metric, self.feature_set, reporter)
            rows = self._embedded.rows
        else:
            rows, stamp = found.rows, found.index.features
        # The cases are read last, because another program may add some with features in between.
        self.cases = CaseTable(library)
        #: Row ids of the cases in the sealed test vault, which are neither ranked nor queries.
        self.sealed = frozenset(sealed_rows(library).tolist())
        self._set_up(rows)
        #: Finds candidates on a server; ``None`` where all cases are compared.
        self.candidates = None if found is None else found.open(library, self.rows, self._exact_index)
        self.recall = None if found is None else found.index
        if found is None:
            # The first search must not wait for it.
            _ = self.index
        #: Identifies the features that :attr:`neighbourhoods` are stored for; "" if they are not stored.
        self._stamp = stamp if len(self.rows) >= FEWEST_KEPT else ""
        self.calibration = stored_calibration(record.scores)
        self.prevalences = library.prevalences
        self._whole: LoadedMetric | None = None
        self._near: Neighbourhoods | None = None
        self._identities: IdentityIndex | None = None
        self._ledgers: OrderedDict[str, Ledger] = OrderedDict()
        self._details: dict[int, CaseDetails] = {}
        #: Its cases after the metric's steps, read on first use.
        self.transformed = TransformedCases(library, self.feature_set, self.metric, self.rows)
        self._reduced: OrderedDict[frozenset[str], LoadedMetric] = OrderedDict()
        #: The metric trained without the patient of the last such query, with its training cases.
        self._refitted: tuple[bytes, LoadedMetric] | None = None
        #: Whether this is the stored metric trained again without a query's patient.
        self.without_patient = False
        #: What other modules computed for these cases; dropped with this metric.
        self.cache = MetricCache()

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
        arrays = (self.__dict__.get(name) for name in ("embedding", "ties", "drawn"))
        own: int = sum(array.nbytes for array in arrays if array is not None) + self.transformed.nbytes
        own += self.cache.nbytes
        own += 0 if self._refitted is None else self._refitted[1].nbytes
        return (
            own
            if self._whole is not None
            else own + sum(reduced.nbytes for reduced in self._reduced.values())
        )

    def _set_up(self, rows: npt.NDArray[np.int64]) -> None:
        places: slice | npt.NDArray[np.int64] = slice(None)
        # Usually these are all cases, and copies would take hundreds of megabytes.
        if self.sealed or not np.array_equal(rows, self.cases.rows):
            places = self.cases.places(rows)
            there = (places >= 0) & ~np.isin(rows, list(self.sealed))
            if not there.all():
                rows, places = rows[there], places[there]
        self.rows = rows
        #: (n,) a number for each finding, -1 where a case has none.
        self.finding_codes = self.cases.finding_codes[places].astype(np.int64)
        #: (n,) a number for each patient, -1 where unknown: numbers compare much faster than names.
        self.patient_codes = self.cases.patient_codes[places]
        #: (n,) a number for each lesion; its nearest case represents all.
        self.keys = self.cases.lesions[places]

    @cached_property
    def scores(self) -> MetricScores | None:
        """The stored scores of the metric; ``None`` if there are none that can be read."""
        return stored_scores(self.record.scores)

    @cached_property
    def findings(self) -> npt.NDArray[Any]:
        """(n,) the finding of each case, ``None`` where it has none."""
        return _named(self.finding_codes, self.cases.finding_names)

    @cached_property
    def _embedding(self) -> CachedEmbedding:
        """The data of :attr:`rows`, read on first use where the server finds candidates."""
        embedded = self._embedded
        if embedded is None:
            embedded, _ = embed_cases(self.library, self.record, self.metric, self.feature_set)
        self._embedded = None
        if np.array_equal(embedded.rows, self.rows):
            return embedded
        places = np.minimum(np.searchsorted(embedded.rows, self.rows), len(embedded.rows) - 1)
        if (embedded.rows[places] != self.rows).any():
            raise SemblanceError(
                tr_lazy(
                    "Another program changed {library} at the same time.", library=self.library.location.name
                ),
                "Try again.",
            )
        none = np.empty((0, 0))
        return CachedEmbedding(self.rows, embedded.embedding[places], embedded.ties[places], none)

    @cached_property
    def embedding(self) -> npt.NDArray[np.float64]:
        """(n, m) the cases in the metric's coordinates."""
        return self._embedding.embedding

    @cached_property
    def ties(self) -> npt.NDArray[np.float64] | None:
        """(n, d) the rows that order equal distances; ``None`` where the metric needs none."""
        if self.candidates is not None:
            return None
        return self._embedding.breaks_ties

    @cached_property
    def drawn(self) -> npt.NDArray[np.float64] | None:
        """(s, d) numbers of the cases at :func:`semblance.core.workflows.searches.embedding_cache.sample_positions`;
        ``None`` where they have to be read."""
        if self.candidates is not None or not len(self._embedding.drawn):
            return None
        return self._embedding.drawn.astype(np.float64)

    @cached_property
    def index(self) -> Index | DistanceIndex:
        """The exact index of all cases."""
        kept = self._embedding
        return index_for(
            self.metric.distance,
            self.embedding,
            self.ties,
            prepared=kept.prepared,
            prepared_ties=kept.prepared_ties,
        )

    def _exact_index(self) -> Index:
        assert isinstance(self.index, Index)
        return self.index

    def search_index(self, candidates: int | None = None) -> Index | DistanceIndex | CandidateIndex:
        """The index of a search with so many ``candidates``; 0 compares all cases, ``None`` as many as reached the
        required recall. Without an index of candidates all cases are compared."""
        if self.candidates is None or candidates == 0:
            return self.index
        return self.candidates if candidates is None else self.candidates.with_candidates(candidates)

    @cached_property
    def patients(self) -> npt.NDArray[Any]:
        """(n,) the patient of each case, ``None`` where it is unknown."""
        return _named(self.patient_codes, self.cases.patient_names)

    def position_of(self, row: CaseRow) -> Position | None:
        """The position of the case in :attr:`embedding`; ``None`` without features."""
        place = int(np.searchsorted(self.rows, row))
        return Position(place) if place < len(self.rows) and self.rows[place] == row else None

    def patient_of_case(self, case: str) -> str | None:
        """The patient of a case by its id; ``None`` if unknown, or for a case without features."""
        try:
            place = self.position_of(self.cases.row_of(case))
        except BadInput:
            return None
        return None if place is None else self.cases.patient_of(self.row_at(place))

    def row_at(self, place: Position) -> CaseRow:
        """The catalogue's number of the case at a place."""
        return CaseRow(int(self.rows[place]))

    def case_query(self, place: Position) -> EmbeddedQuery:
        """A case with features as a query."""
        tie = None if self.ties is None else self.ties[place]
        row = self.row_at(place)
        embedded = self.coordinates(np.array([place]))[0]
        return EmbeddedQuery(embedded, tie, place, self.query_patient(row), int(self.keys[place]))

    def coordinates(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """(p, m) the cases at ``places`` (p,) in the metric's coordinates; read from the server where all of them were
        not needed so far."""
        if self.candidates is None or "embedding" in self.__dict__:
            return self.embedding[places]
        return self.candidates.coordinates(places)

    def positions_of(self, rows: Collection[CaseRow]) -> set[Position]:
        """The positions of those of the cases ``rows`` that have features."""
        return {place for row in rows if (place := self.position_of(row)) is not None}

    def positions_of_cases(self, case_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """(c,) the positions of cases with features, by their ids.

        Raises:
            BadInput: no such case, or no features for it.
        """
        self.cases.look_up(case_ids)
        positions = [self.position_of(self.cases.row_of(case_id)) for case_id in case_ids]
        for case_id, position in zip(case_ids, positions, strict=True):
            if position is None:
                raise BadInput(
                    tr_lazy("The case {case} has no features under this metric.", case=case_id),
                    "Extract them first.",
                )
        return np.array(positions, dtype=np.int64)

    def code_of(self, finding: str) -> int:
        """The number of a finding in :attr:`finding_codes`."""
        return self.cases.finding_names.index(finding)

    def query_patient(self, row: CaseRow) -> int | None:
        """The number in :attr:`patient_codes` of the case's patient; ``None`` if no case with features has it."""
        place = int(self.cases.places(np.array([row]))[0])
        code = int(self.cases.patient_codes[place]) if place >= 0 else -1
        return code if code >= 0 and bool((self.patient_codes == code).any()) else None

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
            reduced._whole, reduced._near, reduced.cache = self, None, MetricCache()
        self._reduced[excluded] = reduced
        while len(self._reduced) > MAX_REDUCED or (
            len(self._reduced) > 1 and sum(one.nbytes for one in self._reduced.values()) > SMALL_BYTES
        ):
            self._reduced.popitem(last=False)[1].cache.clear()
        return reduced

    def refitted(self, refitted: RefittedMetric, reporter: Reporter = SILENT) -> LoadedMetric:
        """The same cases under the metric trained again without some of its training cases; only the last one is
        cached, and nothing is written to disk.
        """
        key = refitted.training.tobytes()
        if self._refitted is None or self._refitted[0] != key:
            other = copy.copy(self)
            other.__dict__.pop("trained_cases", None)
            other.metric, other.calibration = refitted.metric, refitted.calibration
            other.record = replace(self.record, training=refitted.training)
            other.transformed = TransformedCases(self.library, self.feature_set, other.metric, self.rows)
            other._compare_transformed(reporter)
            other._stamp = ""
            other._near, other._refitted, other._reduced, other.cache = (
                None,
                None,
                OrderedDict(),
                MetricCache(),
            )
            other.without_patient = True
            self._refitted = (key, other)
        return self._refitted[1]

    def _compare_transformed(self, reporter: Reporter) -> None:
        """Compare the cases after the steps of :attr:`metric`."""
        rows, distance = self.transformed.rows(reporter), self.metric.distance
        self.candidates = self.recall = None
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
            read = self.library.catalogue.details(new)
            self.cases.note({one.case_id: row for row, one in read.items()})
            self._details |= read
        return {row: self._details[row] for row in rows if row in self._details}

    def ledger(self, name: str) -> Ledger:
        """The judgements in the ledger ``name``, read on first use."""
        if name not in self._ledgers:
            self._ledgers[name] = Ledger(self.library.judgements(name))
            while len(self._ledgers) > MAX_LEDGERS:
                self._ledgers.popitem(last=False)
        self._ledgers.move_to_end(name)
        return self._ledgers[name]

    def forget_ledgers(self) -> None:
        """Read the judgements again on next use."""
        self._ledgers.clear()

    @cached_property
    def trained_cases(self) -> Ids:
        """(t,) ascending ids of the cases whose findings or judgements the metric was trained on, and of all other
        cases of their patients and images; empty for a metric trained on features alone."""
        if not is_supervised(self.metric):
            return np.empty(0, dtype=np.int64)
        elsewhere = contents_elsewhere(self.record.card)
        # Who is related to whom is read from all rows of the catalogue, which takes seconds for a million.
        stamp = settled_stamp(self.library.catalogue) if self._stamp else ""
        digest = hashlib.blake2b(repr((stamp, elsewhere)).encode(), digest_size=12)
        digest.update(self.record.training.tobytes())
        file = self.library.derived / f"{self.record.file.stem}{TRAINED_SUFFIX}"
        stored = load_arrays(file, digest.hexdigest()) if stamp else None
        if stored is not None and "cases" in stored:
            return stored["cases"]
        identities = self.identity_index()
        found = np.setdiff1d(identities.ids, identities.unseen(self.record.training, elsewhere))
        if stamp and self.library.can_store_derived:
            save_arrays(file, {"cases": found}, digest.hexdigest())
        return found

    def identity_index(self, reporter: Reporter = SILENT) -> IdentityIndex:
        """The index of cases that share a patient, a lesion or an image, made on first use."""
        if self._identities is None:
            self._identities = IdentityIndex(self.library, reporter)
        return self._identities

    @property
    def neighbourhoods(self) -> Neighbourhoods:
        """The nearest cases of another patient and lesion for a sample of the cases.

        Without some groups of features only the distances of the same neighbours are measured again, because every
        toggle would otherwise search hundreds of times. If another case is nearer then, the distance is too large, so
        fewer queries have no close match, never more.
        """
        if self._near is None:
            self._near = (
                self._sampled_neighbourhoods()
                if self._whole is None
                else self._whole.neighbourhoods.measured_anew(self.index, self.embedding)
            )
        return self._near

    def _sampled_neighbourhoods(self) -> Neighbourhoods:
        """The neighbourhoods, stored by an earlier run or computed now, which takes seconds for a million cases."""
        digest = hashlib.blake2b(self._stamp.encode(), digest_size=12)
        for array in (self.rows, self.patient_codes, self.keys) if self._stamp else ():
            digest.update(array.tobytes())
        file = self.library.derived / f"{self.record.file.stem}{NEAR_SUFFIX}"
        cached = load_arrays(file, digest.hexdigest()) if self._stamp else None
        names = ("places", "nearest", "distances")
        if cached is not None and cached.keys() == set(names):
            return Neighbourhoods(*(cached[name] for name in names))
        found = Neighbourhoods.sampled(self.search_index(), self.case_query, self.patient_codes, self.keys)
        if self._stamp and self.library.can_store_derived:
            save_arrays(file, {name: getattr(found, name) for name in names}, digest.hexdigest())
        return found

    @cached_property
    def with_regions(self) -> bool:
        """Whether the cases are regions of images, judged by a sample over the library."""
        some = self.rows[:: max(1, len(self.rows) // REGION_SAMPLE)].tolist()
        details = self.library.catalogue.details(some)
        there = [case for case in details.values() if case.address is not None]
        return 2 * sum(case.region is not None for case in there) > len(there)


def _named(codes: npt.NDArray[np.integer[Any]], names: Sequence[str]) -> npt.NDArray[Any]:
    """(n,) the name of each of ``codes``; ``None`` for -1, which is the last."""
    found: npt.NDArray[Any] = np.array([*names, None], dtype=object)[codes]
    return found
