"""Clicks that cannot all be right are found, with those that disagree."""

from __future__ import annotations

import numpy as np

from semblance.core.searches.contradictions import (
    MAX_CYCLES,
    Contradiction,
    ContradictionReason,
    contradictions,
)
from semblance.core.searches.ledger import Ledger
from tests.unit.core.searches.test_ledger import closer, like, unlike


def found(*judgements, patients: dict | None = None) -> list[Contradiction]:
    ledger = Ledger()
    ledger.add(judgements)
    return contradictions(ledger.in_force, (patients or {}).get)


def test_agreeing_judgements_have_no_contradictions() -> None:
    assert found() == []
    agreeing = [
        like("q", "a"),
        unlike("q", "b"),
        closer("q", "a", "b"),
        closer("q", "b", "c"),
        like("r", "b"),
    ]
    assert found(*agreeing) == []


def test_the_same_pair_both_ways() -> None:
    assert found(like("q", "x"), like("q", "a"), unlike("q", "a")) == [
        Contradiction(ContradictionReason.BOTH_WAYS, (2, 3))
    ]
    assert found(closer("q", "a", "b"), closer("q", "b", "a")) == [
        Contradiction(ContradictionReason.BOTH_WAYS, (1, 2))
    ]
    assert found(like("q", "a"), unlike("a", "q")) == [Contradiction(ContradictionReason.BOTH_WAYS, (1, 2))]


def test_cycle_of_comparisons() -> None:
    circle = [closer("q", "a", "b"), closer("q", "b", "c"), closer("q", "c", "a")]
    assert found(*circle) == [Contradiction(ContradictionReason.CIRCLE, (1, 2, 3))]
    assert found(*circle[:2]) == []


def test_cycle_through_three_queries() -> None:
    """d(1, 2) < d(1, 3) < d(2, 3) < d(1, 2)."""
    circle = [closer("1", "2", "3"), closer("3", "1", "2"), closer("2", "3", "1")]
    assert found(*circle) == [Contradiction(ContradictionReason.CIRCLE, (1, 2, 3))]


def test_marks_that_contradict_a_comparison() -> None:
    assert found(like("q", "a"), unlike("q", "b"), closer("q", "b", "a")) == [
        Contradiction(ContradictionReason.CIRCLE, (1, 2, 3))
    ]


def test_patients() -> None:
    patients = {"q": "P", "a": "P", "b": "R", "c": "R"}
    assert found(unlike("q", "a"), patients=patients) == [
        Contradiction(ContradictionReason.OWN_PATIENT, (1,))
    ]
    assert found(closer("q", "b", "a"), patients=patients) == [
        Contradiction(ContradictionReason.OWN_PATIENT, (1,))
    ]
    assert found(like("q", "b"), unlike("q", "c"), patients=patients) == [
        Contradiction(ContradictionReason.ONE_PATIENT, (1, 2))
    ]
    assert found(like("q", "a"), like("q", "b"), patients=patients) == []


def test_number_of_contradictions_is_limited() -> None:
    rng = np.random.default_rng(0)
    made = []
    for _ in range(500):
        a, b = (f"c{n}" for n in rng.choice(60, 2, replace=False))
        made += [closer("q", a, b), closer("q", b, a)]
    contradictions = found(*made)
    assert 0 < len(contradictions) <= MAX_CYCLES
    assert all(
        one.reason in (ContradictionReason.BOTH_WAYS, ContradictionReason.CIRCLE) for one in contradictions
    )


def test_undone_judgements_have_no_contradictions() -> None:
    ledger = Ledger()
    ids = ledger.add([like("q", "a"), unlike("q", "a")])
    ledger.undo(ids[:1])
    assert contradictions(ledger.in_force) == []
