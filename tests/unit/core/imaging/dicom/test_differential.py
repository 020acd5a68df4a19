"""A share of the generated files by the standard, dcmtk and GDCM; ``python -m tests.differential`` takes all."""

from __future__ import annotations

import warnings

from tests.differential.compare import compare
from tests.differential.generated import sample

_COUNT = 150


def test_generated_files_agree_with_the_standard_and_other_readers(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = compare([sample(number) for number in range(_COUNT)], tmp_path)
    assert outcome.faults == []
    assert outcome.agreed["standard"] == _COUNT
    assert outcome.agreed["GDCM"] > _COUNT / 3
