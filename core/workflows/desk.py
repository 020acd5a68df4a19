"""A library laid out for asking: its cases under one metric, kept in memory between searches."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import secrets
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.errors import BadInput
from core.library import open_library
from core.library.judgements import JudgementTable
from core.library.records import DERIVED, MetricRecord
from core.metrics.masking import without_groups
from core.metrics.metric import Metric
from core.metrics.storage import load_metric
from core.retrieval.ranking import Query as RankQuery
from core.retrieval.ranking import rank
from core.retrieval.scan import index_for
from core.searches.ledger import Ledger
from core.tasks import SILENT, Reporter
from core.workflows.stepped import SteppedCases

if TYPE_CHECKING:
    from core.library.library import Library

#: Libraries and metrics kept ready in one process.
KEPT = 4
#: Sets of feature groups left out that one desk keeps ready.
BLIND_KEPT = 4
#: Cases whose nearest neighbour tells what distance is usual, and how far is too far.
SAMPLE, UNUSUAL = 300, 0.99

#: Case rows (n,), their embedding (n, m) and the rows that break its ties (n, d; d = 0: none needed).
_Embedded = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]


class Desk:
    """Cases of a library that have the metric's features, in the metric's coordinates."""

    def __init__(self, library: Library, record: MetricRecord, reporter: Reporter = SILENT) -> None:
        self.library, self.record = library, record
        self.metric: Metric = load_metric(record.file)
        sets = {feature_set.id: feature_set for feature_set in library.features.all()}
        self.feature_set = sets[record.feature_set]
        # Cases last: another program may add some, with numbers, in between.
        embedded = self._embedded_once(reporter)
        self._load_cases()
        self._lay_out(embedded)
        self._usual: float | None = None
        self._ledgers: dict[str, Ledger] = {}
        #: Its cases after the metric's steps, read when they are first needed.
        self.stepped = SteppedCases(library, self.feature_set, self.metric, self.rows)
        self._blind: OrderedDict[frozenset[str], Desk] = OrderedDict()

    def _load_cases(self) -> None:
        cases = self.library.catalogue.all_cases()
        self.case_ids = {int(r.id): r.case_id for r in cases}
        self._row_of = {r.case_id: int(r.id) for r in cases}
        self._facts: dict[int, tuple[str | None, str | None, str]] = {
            int(r.id): (r.finding, r.patient, r.content) for r in cases
        }

    def _embedded_once(self, reporter: Reporter) -> _Embedded:
        """Read the features block by block, or what an earlier run left in the folder of derived data."""
        chunks = self.library.features.chunk_rows(self.feature_set)
        stamp = hashlib.blake2b(digest_size=12)
        for number in sorted(chunks):
            stamp.update(chunks[number].tobytes())
        kept = self.library.path / DERIVED / f"{self.record.file.stem}.{stamp.hexdigest()}.npz"
        loaded = _load(kept)
        if loaded is None:
            loaded = self._embedded(reporter)
            if self.library.writable:
                _keep(kept, loaded)
        return loaded

    def _lay_out(self, embedded: _Embedded) -> None:
        rows, embedding, ties = embedded
        there = np.array([int(row) in self._facts for row in rows], dtype=bool)
        self.rows, self.embedding, ties = rows[there], embedding[there], ties[there]
        self.ties = ties if ties.shape[1] else None
        self.index = index_for(self.metric.distance, self.embedding, self.ties)
        self._place = {int(row): place for place, row in enumerate(self.rows)}
        facts = [self._facts[int(row)] for row in self.rows]
        self.findings = [finding for finding, _, _ in facts]
        self.patients = np.array([patient for _, patient, _ in facts], dtype=object)
        keys: dict[str, int] = {}
        self.keys = np.array([keys.setdefault(content, len(keys)) for _, _, content in facts], dtype=np.int64)
        self._key_of_content = keys

    def _embedded(self, reporter: Reporter) -> _Embedded:
        ids, parts, ties = [], [], []
        for done, (rows, numbers) in enumerate(self.library.features.blocks(self.feature_set)):
            reporter.check_cancelled()
            reporter.progress(done, None, f"Preparing {self.record.name}")
            wide = numbers.astype(np.float64)
            tie = self.metric.tie_break(wide)
            ids.append(rows)
            parts.append(self.metric.coordinates(wide))
            ties.append(np.empty((len(rows), 0)) if tie is None else tie)
        if not ids:
            raise BadInput(
                f"No case of {self.library.path.name} has the features '{self.feature_set.name}'.",
                "Extract them first.",
            )
        rows = np.concatenate(ids)
        order = np.argsort(rows)
        return rows[order], np.concatenate(parts)[order], np.concatenate(ties)[order]

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
            blind.metric = without_groups(self.metric, wanted)
            blind.stepped = self.stepped.without(blind.metric, wanted)
            rows = blind.stepped.rows(reporter)
            distance = blind.metric.distance
            none = np.empty((len(rows), 0))
            blind._lay_out(
                (
                    self.rows,
                    distance.embed(rows) if distance.embeds else rows,
                    rows if distance.ties else none,
                )
            )
            blind._usual = None
        self._blind[wanted] = blind
        while len(self._blind) > BLIND_KEPT:
            self._blind.popitem(last=False)
        return blind

    def ledger(self, name: str) -> Ledger:
        """The judgements kept under ``name``, read when they are first asked for."""
        if name not in self._ledgers:
            self._ledgers[name] = Ledger(JudgementTable(self.library.catalogue, name))
        return self._ledgers[name]

    def usual_nearest(self) -> float | None:
        """The distance that 99 % of the library's own cases have a neighbour within (of another patient
        and content); ``None`` for fewer than 20 cases."""
        if len(self.rows) < 20:
            return None
        if self._usual is None:
            rng = np.random.default_rng(0)
            sample = rng.choice(len(self.rows), min(SAMPLE, len(self.rows)), replace=False)
            nearest = []
            for place in sample:
                one = RankQuery(
                    self.embedding[place], None, int(place), self.patients[place], int(self.keys[place])
                )
                found = rank(self.index, one, 1, patients=self.patients, keys=self.keys)
                nearest += found.distances.tolist()
            self._usual = float(np.quantile(nearest, UNUSUAL)) if nearest else None
        return self._usual


_desks: OrderedDict[tuple[Path, str], tuple[Any, Desk]] = OrderedDict()


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
            return known[1]
        # Another library may lie there by now.
        known[1].library.close()
    opened = open_library(library)
    try:
        stamp = opened.catalogue.stamp()
        desk = Desk(opened, opened.metric(metric), reporter)
    except BaseException:
        opened.close()
        raise
    _desks[key] = (stamp, desk)
    while len(_desks) > KEPT:
        _, (_, oldest) = _desks.popitem(last=False)
        oldest.library.close()
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


def close_desks() -> None:
    """Close every library kept open here."""
    while _desks:
        _, (_, desk) = _desks.popitem()
        desk.library.close()


def _load(file: Path) -> _Embedded | None:
    """What :func:`_keep` kept; ``None`` where nothing usable is: derived data is made again."""
    try:
        # numpy leaves a damaged file open when it opens it itself.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as kept:
            rows, embedding, ties = kept["rows"], kept["embedding"], kept["ties"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    fits = rows.ndim == 1 and embedding.ndim == ties.ndim == 2 and len(rows) == len(embedding) == len(ties)
    return (rows, embedding, ties) if fits else None


def readable(file: Path) -> bool:
    """Whether what was kept of a prepared metric can be used."""
    return _load(file) is not None


def _keep(file: Path, embedded: _Embedded) -> None:
    part = file.with_name(f"{file.stem}.{secrets.token_hex(4)}.part")
    older = [found for found in file.parent.glob(f"{file.name.partition('.')[0]}.*") if found != file]
    try:
        file.parent.mkdir(exist_ok=True)
        with part.open("wb") as out:
            np.savez(out, rows=embedded[0], embedding=embedded[1], ties=embedded[2])
        part.replace(file)
        for found in older:
            found.unlink(missing_ok=True)
    except OSError:
        # A full disk costs the next start some seconds, never an answer now.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
