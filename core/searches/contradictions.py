"""Judgements that cannot all be right, each shown with the clicks that disagree."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from semblance.core.language import tr_lazy
from semblance.core.searches.judgement import Kind
from semblance.core.searches.ledger import Entry

#: At most so many circles are looked for, the newest clicks first: a thousand wrong clicks make millions.
MOST = 200


class Reason(StrEnum):
    """Why judgements disagree."""

    BOTH_WAYS = tr_lazy("the same pair was judged both ways")
    CIRCLE = tr_lazy("these comparisons go round in a circle")
    OWN_PATIENT = tr_lazy("a case of the query's own patient was put away from it")
    ONE_PATIENT = tr_lazy("two cases of one patient were judged differently")


@dataclass(frozen=True)
class Contradiction:
    """``entries``: ids of the clicks that disagree, as few as do, the oldest first."""

    reason: Reason
    entries: tuple[int, ...]


#: A pair of cases, or a query's line between what is like it and what is not.
_Node = Any


def contradictions(
    entries: Sequence[Entry], patient_of: Callable[[str], str | None] | None = None
) -> list[Contradiction]:
    """Those among judgements in force.

    A comparison says that one pair is closer than another; "alike" that the pair is nearer than the query's
    line, "not alike" that it is farther. What goes round in a circle cannot be so for any distance.
    ``patient_of`` tells a case's patient, ``None`` where unknown; left out, patients are not looked at.
    """
    found = [
        *_opposite_thumbs(entries),
        *_circles(entries),
        *(_patients(entries, patient_of) if patient_of else []),
    ]
    return list(dict.fromkeys(found))


def _pair(a: str, b: str) -> _Node:
    return (a, b) if a <= b else (b, a)


def _edges(entries: Sequence[Entry]) -> list[tuple[_Node, _Node, int]]:
    out: list[tuple[_Node, _Node, int]] = []
    for entry in entries:
        one = entry.judgement
        pair, line = _pair(one.asked, one.case), (one.asked,)
        if one.kind == Kind.ALIKE:
            out.append((pair, line, entry.id))
        elif one.kind == Kind.NOT_ALIKE:
            out.append((line, pair, entry.id))
        else:
            assert one.other is not None
            out.append((pair, _pair(one.asked, one.other), entry.id))
    return out


def _circles(entries: Sequence[Entry]) -> list[Contradiction]:
    edges = _edges(entries)
    if not edges:
        return []
    component = _strong_components(edges)
    inside = [edge for edge in edges if component[edge[0]] == component[edge[1]]]
    leaving: dict[_Node, list[tuple[_Node, int]]] = defaultdict(list)
    for tail, head, key in inside:
        leaving[tail].append((head, key))
    out: dict[tuple[int, ...], None] = {}
    for tail, head, key in reversed(inside):
        if len(out) == MOST:
            break
        # Some circle was already shown that this click is part of.
        if any(key in circle for circle in out):
            continue
        out[tuple(sorted({key, *_way(leaving, head, tail)}))] = None
    return [Contradiction(Reason.BOTH_WAYS if len(circle) == 2 else Reason.CIRCLE, circle) for circle in out]


def _way(leaving: dict[_Node, list[tuple[_Node, int]]], start: _Node, end: _Node) -> list[int]:
    """The clicks on a shortest way; there is one inside a strong component."""
    came: dict[_Node, tuple[_Node, int] | None] = {start: None}
    queue = deque([start])
    while end not in came:
        node = queue.popleft()
        for head, key in leaving[node]:
            if head not in came:
                came[head] = (node, key)
                queue.append(head)
    way = []
    step = came[end]
    while step is not None:
        way.append(step[1])
        step = came[step[0]]
    return way


def _strong_components(edges: list[tuple[_Node, _Node, int]]) -> dict[_Node, int]:
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number: dict[_Node, int] = {}
    places = np.array([[number.setdefault(node, len(number)) for node in edge[:2]] for edge in edges])
    graph = coo_array((np.ones(len(edges)), places.T), shape=(len(number),) * 2)
    _, labels = connected_components(graph, directed=True, connection="strong")
    return {node: int(labels[place]) for node, place in number.items()}


def _opposite_thumbs(entries: Sequence[Entry]) -> list[Contradiction]:
    """a is like b, yet b is not like a: similarity has no direction."""
    first: dict[tuple[_Node, Kind], Entry] = {}
    out = []
    for entry in entries:
        one = entry.judgement
        if one.kind == Kind.CLOSER:
            continue
        pair = _pair(one.asked, one.case)
        opposite = Kind.NOT_ALIKE if one.kind == Kind.ALIKE else Kind.ALIKE
        there = first.get((pair, opposite))
        if there is not None and there.judgement.asked != one.asked:
            out.append(Contradiction(Reason.BOTH_WAYS, (there.id, entry.id)))
        first.setdefault((pair, one.kind), entry)
    return out


def _patients(entries: Sequence[Entry], patient_of: Callable[[str], str | None]) -> list[Contradiction]:
    out = []
    thumbs: dict[tuple[str, str, Kind], Entry] = {}
    for entry in entries:
        one = entry.judgement
        away = {Kind.ALIKE: None, Kind.NOT_ALIKE: one.case, Kind.CLOSER: one.other}[one.kind]
        own = patient_of(one.query)
        if away is not None and own is not None and patient_of(away) == own:
            out.append(Contradiction(Reason.OWN_PATIENT, (entry.id,)))
        patient = patient_of(one.case)
        if one.kind == Kind.CLOSER or patient is None:
            continue
        opposite = Kind.NOT_ALIKE if one.kind == Kind.ALIKE else Kind.ALIKE
        there = thumbs.get((one.asked, patient, opposite))
        if there is not None and there.judgement.case != one.case:
            out.append(Contradiction(Reason.ONE_PATIENT, (there.id, entry.id)))
        thumbs.setdefault((one.asked, patient, one.kind), entry)
    return out
