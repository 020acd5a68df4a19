"""``python -m tests.fuzz --count 5000``: so many copies, shared out over all kinds; exit status 1 if any was
neither read nor refused with a reason, took more than 5 s or more than 1 GB."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.file_kinds import KINDS
from tests.fuzz.harness import READ, REFUSED, run, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        serve(options.child, options.seed)
        return
    kinds, wrong = options.kinds.split(","), 0
    for place, kind in enumerate(kinds):
        count = len(range(place, options.count, len(kinds)))
        outcome = run(kind, range(count), options.seed)
        wrong += len(outcome.wrong)
        print(
            f"{kind}: {outcome.counts[READ]} read, {outcome.counts[REFUSED]} refused, {len(outcome.wrong)} "
            f"wrong; at most {outcome.seconds:.2f} s, {outcome.bytes >> 20} MB",
            flush=True,
        )
        for number, what in outcome.wrong:
            print(f"  {kind} {number}: {what}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
