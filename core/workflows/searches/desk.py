"""A library laid out for asking: its cases under one metric, kept in memory between searches."""

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
from semblance.core.evaluation.calibration import kept_calibration
from semblance.core.language import tr_lazy
from semblance.core.library import open_library
from semblance.core.library.records import DERIVED, CaseDetails, MetricRecord
from semblance.core.metrics.exclude_groups import exclude_groups
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.scan import index_for
from semblance.core.searches.ledger import Ledger
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import WhoIsWho
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.searches.desk_store import (
    DRAWN_BYTES,
    Prepared,
    drawn_places,
    keep_prepared,
    load_prepared,
)
from semblance.core.workflows.searches.near_duplicates import Lookalikes
from semblance.core.workflows.searches.neighbourhoods import Neighbourhoods
from semblance.core.workflows.searches.stepped import SteppedCases

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Libraries and metrics kept ready in one process.
KEPT = 8
#: Beyond so many only while they are small together: a slider has six steps.
KEPT_LARGE, SMALL_BYTES = 4, 512 << 20
#: All together beyond these, only the one in use keeps what is made again when it is asked for: enough for
#: two metrics of 100,000 cases of 200 components, refined.
ROOM_BYTES = 1 << 30
#: Sets of feature groups left out that one desk keeps ready; more than one only while they are small.
BLIND_KEPT = 4
#: Ledgers that one desk keeps read.
LEDGERS_KEPT = 64
#: Cases whose details one desk keeps in memory.
DETAILS_KEPT = 20_000
#: Cases, spread over the library, that are asked whether they have regions.
LOOKED_INTO = 100


class Desk:
    """Cases of a library that have the metric's features, in the metric's coordinates."""

    def __init__(self, library: Library, record: MetricRecord, reporter: Reporter = SILENT) -> None:
        self.library, self.record = library, record
        self.metric: Metric = stored_metric(record)
        sets = {feature_set.id: feature_set for feature_set in library.features.all()}
        self.feature_set = sets[record.feature_set]
        # Cases last: another program may add some, with numbers, in between.
        embedded = self._embedded_once(reporter)
        self._load_cases()
        self._lay_out(embedded)
        self.calibration = kept_calibration(record.scores)
        self.lookalikes = Lookalikes(library, self.rows, self.findings)
        self._whole: Desk | None = None
        self._near: Neighbourhoods | None = None
        self._ledgers: OrderedDict[str, Ledger] = OrderedDict()
        self._details: dict[int, CaseDetails] = {}
        #: Its cases after the metric's steps, read when they are first needed.
        self.stepped = SteppedCases(library, self.feature_set, self.metric, self.rows)
        self._blind: OrderedDict[frozenset[str], Desk] = OrderedDict()
        #: What others worked out for these cases, by their own names: it goes when the desk goes.
        self.kept: dict[str, Any] = {}

    def close(self) -> None:
        """Close the library, and let go of what was worked out: it and the desk refer to each other."""
        self.slim()
        self.library.close()

    def slim(self) -> None:
        """Let go of what can be made again from the rest."""
        for blind in self._blind.values():
            blind.kept.clear()
        self._blind.clear()
        self.kept.clear()
        self.stepped.forget()

    @property
    def nbytes(self) -> int:
        """Bytes of what grows with the library."""
        arrays = (self.embedding, self.ties, self.drawn)
        own = sum(array.nbytes for array in arrays if array is not None) + self.stepped.nbytes
        own += sum(getattr(one, "nbytes", 0) for one in self.kept.values())
        return own if self._whole is not None else own + sum(blind.nbytes for blind in self._blind.values())

    def _load_cases(self) -> None:
        cases = self.library.catalogue.all_cases()
        self.case_ids = {int(r.id): r.case_id for r in cases}
        self._row_of = {r.case_id: int(r.id) for r in cases}
        self._facts: dict[int, tuple[str | None, str | None, str]] = {
            int(r.id): (r.finding, r.patient, r.content) for r in cases
        }

    def _embedded_once(self, reporter: Reporter) -> Prepared:
        """Read the features block by block, or what an earlier run left in the folder of derived data."""
        chunks = self.library.features.chunk_rows(self.feature_set)
        stamp = hashlib.blake2b(digest_size=12)
        for number in sorted(chunks):
            stamp.update(chunks[number].tobytes())
        kept = self.library.path / DERIVED / f"{self.record.file.stem}.{stamp.hexdigest()}.npz"
        loaded = load_prepared(kept)
        if loaded is None:
            loaded = self._embedded(np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()]), reporter)
            if self.library.writable:
                keep_prepared(kept, loaded)
        return loaded

    def _lay_out(self, embedded: Prepared) -> None:
        rows, embedding, ties, drawn = embedded
        there = np.array([int(row) in self._facts for row in rows], dtype=bool)
        self.rows, self.embedding, ties = rows[there], embedding[there], ties[there]
        #: (s, d) numbers of the cases at :func:`semblance.core.workflows.searches.desk_store.drawn_places`;
        #: ``None`` where they have to be read.
        self.drawn = drawn.astype(np.float64) if len(drawn) and there.all() else None
        self.ties = ties if ties.shape[1] else None
        self.index = index_for(self.metric.distance, self.embedding, self.ties)
        self._place = {int(row): place for place, row in enumerate(self.rows)}
        facts = [self._facts[int(row)] for row in self.rows]
        self.findings = [finding for finding, _, _ in facts]
        numbers: dict[str | None, int] = {None: -1}
        #: (n,) a number for each finding, -1 where a case has none.
        self.finding_codes = np.array(
            [numbers.setdefault(finding, len(numbers) - 1) for finding in self.findings], dtype=np.int64
        )
        self.patients = np.array([patient for _, patient, _ in facts], dtype=object)
        keys: dict[str, int] = {}
        self.keys = np.array([keys.setdefault(content, len(keys)) for _, _, content in facts], dtype=np.int64)
        self._key_of_content = keys

    def _embedded(self, known: npt.NDArray[np.int64], reporter: Reporter) -> Prepared:
        known = np.sort(known[known >= 0]).astype(np.int64)
        wanted = known[drawn_places(len(known))]
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
        return Prepared(
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

    def patient_of(self, row: int) -> str | None:
        return self._facts[row][1]

    def finding_of(self, row: int) -> str | None:
        return self._facts[row][0]

    def key_of(self, row: int) -> int:
        """The number of what the case shows: equal content, equal number; -1 where none shows it."""
        return self._key_of_content.get(self._facts[row][2], -1)

    def without(self, groups: Collection[str], reporter: Reporter = SILENT) -> Desk:
        """The same cases compared without some groups of features; nothing of it is written to the disk.

        Raises:
            BadArguments: a group the metric does not have, or all it has.
        """
        wanted = frozenset(groups)
        if not wanted:
            return self
        blind = self._blind.pop(wanted, None)
        if blind is None:
            blind = copy.copy(self)
            blind.metric = exclude_groups(self.metric, wanted)
            blind.stepped = self.stepped.without(blind.metric, wanted)
            rows = blind.stepped.rows(reporter)
            distance = blind.metric.distance
            blind.embedding = distance.embed(rows) if distance.embeds else rows
            blind.ties = rows if distance.ties else None
            blind.index = index_for(distance, blind.embedding, blind.ties)
            blind._whole, blind._near, blind.kept = self, None, {}
            blind.lookalikes = Lookalikes(blind.library, blind.rows, blind.findings)
        self._blind[wanted] = blind
        while len(self._blind) > BLIND_KEPT or (
            len(self._blind) > 1 and sum(one.nbytes for one in self._blind.values()) > SMALL_BYTES
        ):
            self._blind.popitem(last=False)[1].kept.clear()
        return blind

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
    def who_is_who(self) -> WhoIsWho:
        """Which cases are of one patient or show one image."""
        return WhoIsWho(self.library)

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
        some = self.rows[:: max(1, len(self.rows) // LOOKED_INTO)].tolist()
        details = self.library.catalogue.details(some)
        there = [case for case in details.values() if case.address is not None]
        return 2 * sum(case.region is not None for case in there) > len(there)


_desks: OrderedDict[tuple[Path, str], tuple[Any, Desk]] = OrderedDict()


def _make_room() -> None:
    """Let go of what was asked longest ago: first what is made again from the rest, then all of a desk."""
    desks = [desk for _, desk in _desks.values()]
    for older in desks[:-1]:
        if sum(desk.nbytes for desk in desks) <= ROOM_BYTES:
            break
        older.slim()
    while len(_desks) > KEPT or (
        len(_desks) > KEPT_LARGE and sum(desk.nbytes for _, desk in _desks.values()) > SMALL_BYTES
    ):
        _desks.popitem(last=False)[1][1].close()


def desk_for(
    library: Path, metric: str, reporter: Reporter = SILENT, *, without: Collection[str] = ()
) -> Desk:
    """The desk of ``metric``, laid out anew when the library changed since the last call.

    ``without``: groups of features that count for nothing.

    Raises:
        BadArguments: no such metric, a group it does not have, or all groups left out.
        BadInput: not a library, or no case has the metric's features.
    """
    return _whole_desk(library, metric, reporter).without(without, reporter)


def _whole_desk(library: Path, metric: str, reporter: Reporter) -> Desk:
    key = (library.absolute(), metric)
    known = _desks.pop(key, None)
    if known is not None:
        if known[0] == known[1].library.catalogue.stamp():
            _desks[key] = known
            # What it keeps grows as it is asked.
            _make_room()
            return known[1]
        # Another library may lie there by now.
        known[1].close()
    opened = open_library(library)
    try:
        stamp = opened.catalogue.stamp()
        desk = Desk(opened, opened.metric(metric), reporter)
    except BaseException:
        opened.close()
        raise
    _desks[key] = (stamp, desk)
    _make_room()
    return desk


@contextlib.contextmanager
def own_write(library: Path) -> Iterator[None]:
    """What is written inside changes no case and no feature: desks that were up to date stay so."""
    here = library.absolute()
    current = [
        key
        for key, (stamp, desk) in _desks.items()
        if key[0] == here and stamp == desk.library.catalogue.stamp()
    ]
    yield
    for key in current:
        desk = _desks[key][1]
        _desks[key] = (desk.library.catalogue.stamp(), desk)


def close_desks(library: Path | None = None) -> None:
    """Close every library kept open here, or the one at ``library`` only."""
    here = None if library is None else library.absolute()
    for key in [key for key in _desks if here in (None, key[0])]:
        _desks.pop(key)[1].close()


def slim_desks() -> None:
    """Let go of everything that is made again from the desks; they stay."""
    for _, desk in _desks.values():
        desk.slim()
