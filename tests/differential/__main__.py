"""``python -m tests.differential --count 2000``: generated DICOM files as Semblance, dcmtk, GDCM and the standard have
them, and the table of differences; exit status 1 if one is not settled by the standard."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from tests.differential.compare import Outcome, compare, sample_of_file
from tests.differential.generated import sample

_BATCH = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", type=Path, help="the DICOM files of this folder instead of generated ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.files is not None:
        found = [path for path in sorted(options.files.rglob("*")) if path.is_file()]
        read = [sample_of_file(path, number) for number, path in enumerate(found)]
        with tempfile.TemporaryDirectory() as folder:
            outcome = compare([one for one in read if one is not None], Path(folder))
        print(f"{len(found):,} files, {read.count(None):,} refused by Semblance")
        print(outcome.table())
        sys.exit(1 if outcome.faults else 0)
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
