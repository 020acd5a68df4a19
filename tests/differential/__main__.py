"""``python -m tests.differential --count 2000``: generated DICOM files as Semblance, dcmtk, GDCM and the standard have
them, and the table of differences; exit status 1 if one is not settled by the standard."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from tests.differential.compare import Outcome, compare
from tests.differential.generated import sample

_BATCH = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers, outcome = range(options.first, options.first + options.count), Outcome()
    for start in range(0, len(numbers), _BATCH):
        with tempfile.TemporaryDirectory() as folder:
            batch = [sample(number, options.seed) for number in numbers[start : start + _BATCH]]
            compare(batch, Path(folder), outcome)
        print(f"{outcome.files:,} files, {len(outcome.faults):,} not settled", file=sys.stderr, flush=True)
    print(outcome.table())
    sys.exit(1 if outcome.faults else 0)


if __name__ == "__main__":
    main()
