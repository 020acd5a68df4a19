"""``python -m tests.kills --moments 300``: lives of all kinds of work are ended by kill -9 at random moments.

After each the library must open, be whole and hold all that was reported as done, and the next life must
reach the same end as one that nobody killed. Exit status 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import traceback
from pathlib import Path

from tests.kills.child import PHASES
from tests.kills.harness import Child, Harness


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--moments", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, wrong = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Path(folder))
        child = Child(Path(folder) / "errors")
        harness.prepare(child)
        took = ", ".join(f"{phase} {harness.seconds[phase]:.2f} s" for phase in PHASES)
        print(f"unkilled: {took}", flush=True)
        for number in range(options.moments):
            try:
                print(f"{number + 1}: {harness.try_moment(child, number, rng)}", flush=True)
            except Exception:  # noqa: BLE001 - each is reported, and the others are tried too
                wrong += 1
                traceback.print_exc()
        child.close()
        errors = (Path(folder) / "errors").read_text()
    print(f"{options.moments} moments, killed: {harness.killed}; {wrong} wrong")
    if "Traceback" in errors:
        print(errors)
    sys.exit(1 if wrong or "Traceback" in errors else 0)


if __name__ == "__main__":
    main()
