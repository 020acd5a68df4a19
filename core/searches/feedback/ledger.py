"""The ledger: the judgements of a search in order, each of which can be undone, and their contradictions."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.records import JudgementRecord
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind

#: At most so many cycles are found, those of the newest judgements first. There may be millions.
MAX_CYCLES = 200


class LedgerStore(Protocol):
    """Stores a ledger, as :class:`semblance.core.library.judgements.JudgementTable` does."""

    def read(self) -> list[tuple[int, JudgementRecord, int | None]]:
        """Id, judgement, and position among the undone ones (``None``: in force), in the order of their making."""

    def append(self, new: Sequence[JudgementRecord]) -> list[int]:
        """Store new judgements, all or none, and return their ids."""

    def set_undone(self, changes: Sequence[tuple[int, int | None]]) -> None:
        """Set the position among the undone ones, by id; ``None`` redoes a judgement."""


@dataclass(frozen=True)
class LedgerEntry:
    """A judgement in a ledger; ``undone`` is its position among the undone ones, ``None`` while it is in force."""

    id: int
    judgement: Judgement
    undone: int | None = None


class Ledger:
    """The judgements of a search. Every change is saved in ``store`` first; without a store nothing is saved."""

    def __init__(self, store: LedgerStore | None = None) -> None:
        """Read the ledger.

        Raises:
            BadInput: a stored judgement that this version does not know.
        """
        self._store = store
        stored = store.read() if store else []
        self._entries = {
            key: LedgerEntry(key, Judgement.from_record(one), undone) for key, one, undone in stored
        }
        self._ids_by_statement = {
            _statement_of_author(entry.judgement): entry.id for entry in self._entries.values()
        }
        #: Judgements without their `shown` cases, by entry id. A judgement never changes.
        self._cached_without_visible: dict[int, Judgement] = {}
        #: The judgements that a judgement replaced, by its id, while the ledger is open.
        self._replaced: dict[int, list[int]] = {}
        self._last_undone = max(
            (entry.undone for entry in self._entries.values() if entry.undone is not None), default=0
        )

    @property
    def entries(self) -> list[LedgerEntry]:
        """All judgements, in the order of their making."""
        return list(self._entries.values())

    @property
    def entries_without_visible(self) -> tuple[LedgerEntry, ...]:
        """All judgements without the visible cases, which take much memory and are needed for learning only."""
        return tuple(self._without_visible(entry) for entry in self._entries.values())

    def _without_visible(self, entry: LedgerEntry) -> LedgerEntry:
        if not entry.judgement.shown:
            return entry
        without_visible = self._cached_without_visible.get(entry.id)
        if without_visible is None:
            without_visible = self._cached_without_visible[entry.id] = replace(entry.judgement, shown=())
        return LedgerEntry(entry.id, without_visible, entry.undone)

    @property
    def in_force(self) -> list[LedgerEntry]:
        """The judgements that are not undone."""
        return [entry for entry in self._entries.values() if entry.undone is None]

    def add(self, new: Iterable[Judgement]) -> list[int]:
        """Add judgements that were made together, all or none, and return their ids.

        A judgement with the same content as an earlier one of the same author is not added. The earlier one is redone
        if it was undone.
        """
        judgements = list(new)
        added = list(
            {
                _statement_of_author(one): one
                for one in judgements
                if _statement_of_author(one) not in self._ids_by_statement
            }.values()
        )
        records = [one.to_record() for one in added]
        if added:
            first = max(self._entries, default=0) + 1
            ids = self._store.append(records) if self._store else list(range(first, first + len(added)))
            for key, one in zip(ids, added, strict=True):
                self._entries[key] = LedgerEntry(key, one)
                self._ids_by_statement[_statement_of_author(one)] = key
        ids = [self._ids_by_statement[_statement_of_author(one)] for one in judgements]
        self.redo(ids)
        return ids

    def replace(self, ids: Iterable[int], new: Iterable[Judgement]) -> list[int]:
        """Undo judgements and add those made in their place, as :meth:`add` does.

        While the ledger is open, :meth:`undo_last` and :meth:`redo_last` treat both as one step.

        Raises:
            BadArguments: no such entry.
        """
        replaced = self.undo(ids)
        added = self.add(new)
        for key in added:
            case = self._entries[key].judgement.case
            self._replaced[key] = [one for one in replaced if self._entries[one].judgement.case == case]
        return added

    def undo(self, ids: Iterable[int]) -> list[int]:
        """Undo judgements, also older ones, and return the ids of those that were in force.

        Raises:
            BadArguments: no such entry.
        """
        changed = [key for key in self._check_ids(ids) if self._entries[key].undone is None]
        places = range(self._last_undone + 1, self._last_undone + 1 + len(changed))
        self._set_undone(list(zip(changed, places, strict=True)))
        self._last_undone += len(changed)
        return changed

    def redo(self, ids: Iterable[int]) -> list[int]:
        """Redo judgements, and return the ids of those that were undone.

        Raises:
            BadArguments: no such entry.
        """
        changed = [key for key in self._check_ids(ids) if self._entries[key].undone is not None]
        self._set_undone([(key, None) for key in changed])
        return changed

    def undo_last(self, of: Callable[[Judgement], bool] = lambda _: True) -> list[int]:
        """Undo the newest judgement in force that is one ``of`` these, if any, with those made together with it."""
        newest = [entry for entry in self.in_force if of(entry.judgement)]
        undone = self.undo(_same_action(newest, newest[-1]) if newest else [])
        self.redo(self._replaced_by(undone))
        return undone

    def redo_last(self, of: Callable[[Judgement], bool] = lambda _: True) -> list[int]:
        """Redo the judgement undone last that is one ``of`` these, if any, with those made together with it."""
        replaced = set(self._replaced_by(entry.id for entry in self.in_force))
        undone = [
            entry
            for entry in self._entries.values()
            if entry.undone is not None and entry.id not in replaced and of(entry.judgement)
        ]
        redone = self.redo(
            _same_action(undone, max(undone, key=lambda entry: entry.undone or 0)) if undone else []
        )
        self.undo(self._replaced_by(redone))
        return redone

    def _replaced_by(self, ids: Iterable[int]) -> list[int]:
        return [one for key in ids for one in self._replaced.get(key, ())]

    def _check_ids(self, ids: Iterable[int]) -> list[int]:
        judgements = list(dict.fromkeys(ids))
        for key in judgements:
            if key not in self._entries:
                raise BadArguments(
                    tr_lazy("There is no mark {key} in this ledger.", key=key), "Open the list again."
                )
        return judgements

    def _set_undone(self, changes: list[tuple[int, int | None]]) -> None:
        if self._store:
            self._store.set_undone(changes)
        for key, place in changes:
            self._entries[key] = LedgerEntry(key, self._entries[key].judgement, place)


def _same_action(entries: Iterable[LedgerEntry], one: LedgerEntry) -> list[int]:
    """Ids of the judgements made together with ``one``, such as several cases judged with one key."""
    new = (one.judgement.time, one.judgement.author)
    if not one.judgement.time:
        return [one.id]
    return [entry.id for entry in entries if (entry.judgement.time, entry.judgement.author) == new]


def _statement_of_author(one: Judgement) -> tuple[str, ...]:
    """Equal for judgements of one author with the same content."""
    return one.author, *one.statement


class ContradictionReason(StrEnum):
    """Why judgements contradict each other."""

    BOTH_WAYS = tr_lazy("the same pair was marked both ways")
    CIRCLE = tr_lazy("these comparisons go round in a circle")
    OWN_PATIENT = tr_lazy("a case of the query's own patient was marked as less like the query")
    ONE_PATIENT = tr_lazy("two cases of one patient were marked differently")


@dataclass(frozen=True)
class Contradiction:
    """``entries``: ids of a smallest set of judgements that contradict each other, oldest first."""

    reason: ContradictionReason
    entries: tuple[int, ...]


#: A pair of cases, or the boundary of a query between cases like it and cases unlike it.
_Node = Any


def contradictions(
    entries: Sequence[LedgerEntry], patient_of: Callable[[str], str | None] | None = None
) -> list[Contradiction]:
    """The contradictions among judgements in force.

    A comparison says that one pair is closer than another, "alike" that the pair is closer than the boundary of the
    query, "not alike" that it is farther. No distance satisfies a cycle of such statements. ``patient_of`` returns
    the patient of a case, ``None`` if unknown; without it patients are not checked.
    """
    found = [
        *_opposite_marks(entries),
        *_find_cycles(entries),
        *(_patient_contradictions(entries, patient_of) if patient_of else []),
    ]
    return list(dict.fromkeys(found))


def _pair(a: str, b: str) -> _Node:
    return (a, b) if a <= b else (b, a)


def _edges(entries: Sequence[LedgerEntry]) -> list[tuple[_Node, _Node, int]]:
    out: list[tuple[_Node, _Node, int]] = []
    for entry in entries:
        judgement = entry.judgement
        pair, boundary = _pair(judgement.query_key, judgement.case), (judgement.query_key,)
        if judgement.kind == JudgementKind.ALIKE:
            out.append((pair, boundary, entry.id))
        elif judgement.kind == JudgementKind.NOT_ALIKE:
            out.append((boundary, pair, entry.id))
        else:
            assert judgement.other is not None
            out.append((pair, _pair(judgement.query_key, judgement.other), entry.id))
    return out


def _find_cycles(entries: Sequence[LedgerEntry]) -> list[Contradiction]:
    edges = _edges(entries)
    sources, targets = {edge[0] for edge in edges}, {edge[1] for edge in edges}
    # No other is part of a cycle; of the marks on one query none is, and the graph takes longer than a mark may.
    edges = [edge for edge in edges if edge[0] in targets and edge[1] in sources]
    if not edges:
        return []
    component = _strong_components(edges)
    in_component = [edge for edge in edges if component[edge[0]] == component[edge[1]]]
    outgoing: dict[_Node, list[tuple[_Node, int]]] = defaultdict(list)
    for source, target, key in in_component:
        outgoing[source].append((target, key))
    out: dict[tuple[int, ...], None] = {}
    for source, target, key in reversed(in_component):
        if len(out) == MAX_CYCLES:
            break
        # A cycle with this judgement was found already.
        if any(key in cycle for cycle in out):
            continue
        out[tuple(sorted({key, *_shortest_path(outgoing, target, source)}))] = None
    return [
        Contradiction(ContradictionReason.BOTH_WAYS if len(cycle) == 2 else ContradictionReason.CIRCLE, cycle)
        for cycle in out
    ]


def _shortest_path(outgoing: dict[_Node, list[tuple[_Node, int]]], start: _Node, end: _Node) -> list[int]:
    """The judgements on a shortest path, which exists inside a strong component."""
    predecessors: dict[_Node, tuple[_Node, int] | None] = {start: None}
    queue = deque([start])
    while end not in predecessors:
        node = queue.popleft()
        for target, key in outgoing[node]:
            if target not in predecessors:
                predecessors[target] = (node, key)
                queue.append(target)
    path = []
    step = predecessors[end]
    while step is not None:
        path.append(step[1])
        step = predecessors[step[0]]
    return path


def _strong_components(edges: list[tuple[_Node, _Node, int]]) -> dict[_Node, int]:
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number: dict[_Node, int] = {}
    places = np.array([[number.setdefault(node, len(number)) for node in edge[:2]] for edge in edges])
    graph = coo_array((np.ones(len(edges)), places.T), shape=(len(number),) * 2)
    _, labels = connected_components(graph, directed=True, connection="strong")
    return {node: int(labels[place]) for node, place in number.items()}


def _opposite_marks(entries: Sequence[LedgerEntry]) -> list[Contradiction]:
    """a is like b, but b is not like a: similarity is symmetric."""
    first: dict[tuple[_Node, JudgementKind], LedgerEntry] = {}
    out = []
    for entry in entries:
        judgement = entry.judgement
        if judgement.kind == JudgementKind.CLOSER:
            continue
        pair = _pair(judgement.query_key, judgement.case)
        opposite = JudgementKind.NOT_ALIKE if judgement.kind == JudgementKind.ALIKE else JudgementKind.ALIKE
        other = first.get((pair, opposite))
        if other is not None and other.judgement.query_key != judgement.query_key:
            out.append(Contradiction(ContradictionReason.BOTH_WAYS, (other.id, entry.id)))
        first.setdefault((pair, judgement.kind), entry)
    return out


def _patient_contradictions(
    entries: Sequence[LedgerEntry], patient_of: Callable[[str], str | None]
) -> list[Contradiction]:
    out = []
    marks: dict[tuple[str, str, JudgementKind], LedgerEntry] = {}
    for entry in entries:
        judgement = entry.judgement
        negative = {
            JudgementKind.ALIKE: None,
            JudgementKind.NOT_ALIKE: judgement.case,
            JudgementKind.CLOSER: judgement.other,
        }[judgement.kind]
        query_patient = patient_of(judgement.query)
        if negative is not None and query_patient is not None and patient_of(negative) == query_patient:
            out.append(Contradiction(ContradictionReason.OWN_PATIENT, (entry.id,)))
        patient = patient_of(judgement.case)
        if judgement.kind == JudgementKind.CLOSER or patient is None:
            continue
        opposite = JudgementKind.NOT_ALIKE if judgement.kind == JudgementKind.ALIKE else JudgementKind.ALIKE
        other = marks.get((judgement.query_key, patient, opposite))
        if other is not None and other.judgement.case != judgement.case:
            out.append(Contradiction(ContradictionReason.ONE_PATIENT, (other.id, entry.id)))
        marks.setdefault((judgement.query_key, patient, judgement.kind), entry)
    return out
