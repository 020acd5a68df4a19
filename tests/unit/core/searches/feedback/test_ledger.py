"""Clicks are stored in order, undone in any, once each."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.judgements import ledgers
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import (
    MAX_CYCLES,
    Contradiction,
    ContradictionReason,
    Ledger,
    contradictions,
)
from tests.helpers.libraries import make_library, raw


def like(query: str, case: str, **more: object) -> Judgement:
    return Judgement(JudgementKind.ALIKE, query, case, **more)


def unlike(query: str, case: str, **more: object) -> Judgement:
    return Judgement(JudgementKind.NOT_ALIKE, query, case, **more)


def closer(query: str, case: str, other: str) -> Judgement:
    return Judgement(JudgementKind.CLOSER, query, case, other)


def cases_in_force(ledger: Ledger) -> list[str]:
    return [entry.judgement.case for entry in ledger.in_force]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: like("a", "a"), "against itself"),
        (lambda: closer("a", "b", "a"), "against itself"),
        (lambda: closer("a", "b", "b"), "closer than itself"),
        (lambda: Judgement(JudgementKind.CLOSER, "a", "b"), "compares two"),
        (lambda: Judgement(JudgementKind.ALIKE, "a", "b", "c"), "a mark judges one"),
    ],
)
def test_invalid_judgements_are_refused(make, text: str) -> None:
    with pytest.raises(BadInput, match=text):
        make()


def test_judgements_are_undone_and_redone_in_any_order() -> None:
    ledger = Ledger()
    ids = ledger.add([like("q", case) for case in "abcd"])
    assert ledger.undo([ids[1], ids[3], ids[1]]) == [ids[1], ids[3]]
    assert cases_in_force(ledger) == ["a", "c"]
    assert ledger.undo([ids[1]]) == []
    assert ledger.redo_last() == [ids[3]]
    assert ledger.redo_last() == [ids[1]]
    assert ledger.redo_last() == []
    assert cases_in_force(ledger) == ["a", "b", "c", "d"]
    assert ledger.undo_last() == [ids[3]]
    with pytest.raises(BadArguments, match="no mark 99"):
        ledger.undo([99])


def test_a_mark_that_replaced_another_is_one_step_of_undo_and_redo() -> None:
    ledger = Ledger()
    (liked, _) = ledger.add([like("q", "a"), like("q", "b")])
    (changed,) = ledger.replace([liked], [unlike("q", "a")])
    for _ in range(2):
        assert ledger.undo_last() == [changed]
        assert cases_in_force(ledger) == ["a", "b"]
        assert ledger.redo_last() == [changed]
        assert cases_in_force(ledger) == ["b", "a"]
        # What it replaced is not what was undone last.
        assert ledger.redo_last() == []
    # The same mark again takes it away, and brings nothing back.
    ledger.undo([changed])
    assert cases_in_force(ledger) == ["b"]


def test_repeated_judgement_of_one_person_is_stored_once() -> None:
    ledger = Ledger()
    ids = [ledger.add([like("q", "a", author=f"person {n % 2}")])[0] for n in range(100)]
    assert len(set(ids)) == 2
    ledger.undo(ids[:2])
    ids = [ledger.add([like("q", "a")])[0] for _ in range(100)]
    assert len(set(ids)) == 1
    assert len(ledger.add([unlike("q", "b"), unlike("q", "b")])) == 2
    assert len(ledger.entries) == 4
    ledger.undo(ids[:1])
    ledger.add([like("q", "a")])
    assert cases_in_force(ledger) == ["a", "b"]


def test_regions_of_one_case_are_separate_queries() -> None:
    ledger = Ledger()
    ledger.add([like("q", "a"), like("q", "a", region={"x": 1}), like("q", "a", region={"x": 2})])
    assert len(ledger.in_force) == 3


def test_saved_ledger_is_restored(tmp_path) -> None:
    path = make_library(tmp_path / "lib")
    made = [
        like(
            "s/0.png", "s/1.png", author="ann", time="2026-01-02T03:04:05+00:00", shown=("s/2.png", "s/3.png")
        ),
        closer("s/0.png", "s/1.png", "s/4.png"),
        unlike("s/0.png", "gone", region={"kind": "rectangle", "x": 1}),
    ]
    with Library.open(path) as library:
        ledger = Ledger(library.judgements("first"))
        ids = ledger.add(made)
        ledger.undo([ids[2], ids[0]])
        Ledger(library.judgements("second")).add([like("x", "y")])
        before = ledger.entries
    with Library.open(path) as library:
        again = Ledger(library.judgements("first"))
        assert again.entries == before
        assert [entry.judgement for entry in again.entries] == made
        assert again.redo_last() == [ids[0]]
        assert ledgers(library.catalogue) == ["first", "second"]


def test_unknown_kind_of_judgement_is_refused(tmp_path) -> None:
    path = make_library(tmp_path / "lib")
    with Library.open(path) as library:
        Ledger(library.judgements("l")).add([like("a", "b")])
    with raw(path) as connection:
        connection.execute("UPDATE judgements SET kind='smells like'")
    with Library.open(path) as library, pytest.raises(BadInput, match="smells like"):
        Ledger(library.judgements("l"))


@pytest.mark.slow
def test_ten_thousand_judgements_are_undone_and_saved(tmp_path) -> None:
    path = make_library(tmp_path / "lib")
    with Library.open(path) as library:
        ledger = Ledger(library.judgements("l"))
        ids = ledger.add([like("q", f"c{n}") for n in range(10_000)])
        order = np.random.default_rng(0).permutation(ids).tolist()
        assert len(ledger.undo(order)) == 10_000
        assert ledger.in_force == []
        assert Ledger(library.judgements("l")).redo_last() == order[-1:]


def test_entries_without_visible_cases() -> None:
    ledger = Ledger()
    first, second = ledger.add([Judgement(JudgementKind.ALIKE, "q", "a", shown=("a", "b")), like("q", "b")])
    assert [entry.judgement.shown for entry in ledger.entries_without_visible] == [(), ()]
    assert ledger.entries[0].judgement.shown == ("a", "b")
    ledger.undo([first])
    assert [entry.undone is None for entry in ledger.entries_without_visible] == [False, True]
    assert [entry.id for entry in ledger.entries_without_visible] == [first, second]


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
