"""Damaged copies of any file never crash, hang or eat memory; ``python -m tests.fuzz`` runs thousands."""

from __future__ import annotations

import pytest

from tests.fuzz import harness
from tests.fuzz.file_kinds import KINDS, Kind
from tests.fuzz.harness import READ, REFUSED, run
from tests.fuzz.mutations import mutated
from tests.helpers.long_run import LONG

#: Damaged copies of each kind.
COPIES = 24 if LONG else 8


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("dicom", "bomb")])
def test_mutated_files_are_read_or_refused_with_a_reason(kind):
    outcome = run(kind, range(COPIES), seed=1)
    assert outcome.wrong == []
    assert outcome.counts[READ] + outcome.counts[REFUSED] == COPIES
    assert outcome.counts[REFUSED] > 0


def test_copies_are_the_same_for_the_same_number():
    whole = bytes(range(256)) * 4
    copies = [mutated(whole, number, 0) for number in range(50)]
    assert copies == [mutated(whole, number, 0) for number in range(50)]
    assert len(set(copies)) > 45
    assert copies != [mutated(whole, number, 1) for number in range(50)]


def _failing(error: type[BaseException]) -> Kind:
    def read(data: bytes, place: object) -> bool:
        raise error("inside")

    return Kind(lambda _: [b"x" * 64], read)


def test_errors_are_reported(monkeypatch, tmp_path):
    monkeypatch.setitem(KINDS, "failing", _failing(KeyError))
    outcome = harness._outcome("failing", [b"x" * 64], 0, 0, tmp_path)
    assert outcome == "KeyError: 'inside'"
    monkeypatch.setattr(harness, "SECONDS", -1)
    monkeypatch.setitem(KINDS, "slow", Kind(lambda _: [], lambda *_: True))
    assert harness._outcome("slow", [b"x" * 64], 0, 0, tmp_path).endswith(" s")
