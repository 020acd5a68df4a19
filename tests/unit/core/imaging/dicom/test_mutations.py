"""Damaged copies never crash, hang or eat memory; ``python -m tests.fuzz`` runs thousands."""

from __future__ import annotations

from tests.fuzz.harness import READ, REFUSED, run


def test_mutated_files_decode_or_say_why_not():
    outcome = run("dicom", range(300), seed=1)
    assert outcome.wrong == []
    assert outcome.counts[READ] > 20
    assert outcome.counts[REFUSED] > 20
