"""Contradictions among judgements."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from semblance.core.language import tr_lazy
from semblance.core.searches.judgement import JudgementKind
from semblance.core.searches.ledger import LedgerEntry

#: At most so many cycles are found, those of the newest judgements first. There may be millions.
MAX_CYCLES = 200


class ContradictionReason(StrEnum):
    """Why judgements contradict each other."""

    BOTH_WAYS = tr_lazy("the same pair was judged both ways")
    CIRCLE = tr_lazy("these comparisons go round in a circle")
    OWN_PATIENT = tr_lazy("a case of the query's own patient was marked as less like the query")
    ONE_PATIENT = tr_lazy("two cases of one patient were judged differently")


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
