"""Damaged copies never crash, hang or eat memory; ``python -m tests.helpers.fuzz_dicom`` runs 5,000."""

from __future__ import annotations

from tests.helpers import data
from tests.helpers.fuzz_dicom import run


def test_mutated_files_decode_or_say_why_not():
    outcome = run(data.folder(), range(300), seed=1)
    assert outcome.wrong == []
    assert outcome.counts["decoded"] > 20
    assert outcome.counts["refused"] > 20
