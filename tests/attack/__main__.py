"""``make attack``: damaged copies of every kind of file, small files that would fill the memory, kills at random
moments, and full and write-protected disks. Ends with a table; exit status 1 if anything in it is not 0."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack.bombs import BOMBS
from tests.fuzz.harness import READ, REFUSED, Outcome, run
from tests.fuzz.kinds import KINDS
from tests.kills.child import PHASES, READ_ONLY
from tests.kills.harness import Child, Harness

COLUMNS = ("crashed", "> 5 s", "> 1 GB", "lost", "leaked")
#: Bytes left on a full disk; the last one cannot be written to at all.
DISKS = ("0", "60000", READ_ONLY)


@dataclass
class Part:
    """A part of the attack: how often it was tried, what was read and refused, and what went wrong."""

    name: str
    tried: int = 0
    read: int = 0
    refused: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    bytes: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--mutants", type=int, default=5000, help="damaged copies, shared out over all kinds")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="mutants,bombs,kills,disks", help="parts, with commas between")
    options = parser.parse_args()
    chosen = set(options.only.split(","))
    parts: list[Part] = []
    if "mutants" in chosen:
        kinds = [kind for kind in KINDS if kind != "bomb"]
        for place, kind in enumerate(kinds):
            numbers = range(len(range(place, options.mutants, len(kinds))))
            parts.append(_of_outcome(kind, run(kind, numbers, options.seed)))
    if "bombs" in chosen:
        parts.append(_of_outcome("bomb", run("bomb", range(len(BOMBS)), options.seed)))
    with tempfile.TemporaryDirectory() as folder:
        if chosen & {"kills", "disks"}:
            harness, child = Harness(Path(folder)), Child(Path(folder) / "errors")
            try:
                harness.prepare(child)
                if "kills" in chosen:
                    parts.append(_kills(harness, child, options.kills, options.seed))
                if "disks" in chosen:
                    parts.append(_disks(harness, child))
            except AssertionError as error:
                # Nothing was killed yet: it does not work at all.
                print(f"  kills: {error}\n{(Path(folder) / 'errors').read_text()}", flush=True)
                parts.append(Part("kills", 1, wrong=Counter(crashed=1)))
            finally:
                child.close()
    _show(parts)
    sys.exit(1 if any(part.wrong for part in parts) else 0)


def _of_outcome(name: str, outcome: Outcome) -> Part:
    part = Part(
        name, sum(outcome.counts.values()) + len(outcome.wrong), outcome.counts[READ], outcome.counts[REFUSED]
    )
    part.seconds, part.bytes = outcome.seconds, outcome.bytes
    for number, what in outcome.wrong:
        print(f"  {name} {number}: {what}", flush=True)
        part.wrong[_column(what)] += 1
    return part


def _column(what: str) -> str:
    if "leaked" in what:
        return "leaked"
    if what == "hangs" or what.endswith(" s"):
        return "> 5 s"
    return "> 1 GB" if what.endswith(" MB") else "crashed"


def _kills(harness: Harness, child: Child, count: int, seed: int) -> Part:
    part, rng = Part("kills", count), random.Random(seed)
    for number in range(count):
        try:
            harness.try_moment(child, number, rng)
        except AssertionError as error:
            print(f"  kill {number}: {str(error).splitlines()[0]}", flush=True)
            part.wrong["lost"] += 1
    part.read = sum(harness.killed.values())
    return part


def _disks(harness: Harness, child: Child) -> Part:
    part = Part("disks")
    for phase in PHASES:
        for disk in DISKS:
            try:
                outcome = harness.try_disk(child, phase, disk)
            except AssertionError as error:
                print(f"  {phase}, {disk}: {str(error).splitlines()[0]}", flush=True)
                part.wrong["lost"] += 1
                continue
            if outcome is None:
                print("  disks: this user may not mount a file system of their own")
                return part
            part.tried += 1
            part.refused += outcome["ended"] == "reported"
    return part


def _show(parts: list[Part]) -> None:
    print(
        f"{'':18}{'tried':>7}{'read':>7}{'refused':>9}{'s':>7}{'MB':>7}" + "".join(f"{c:>9}" for c in COLUMNS)
    )
    for part in parts:
        numbers = f"{part.tried:7,}{part.read:7,}{part.refused:9,}{part.seconds:7.1f}{part.bytes >> 20:7,}"
        print(f"{part.name:18}{numbers}" + "".join(f"{part.wrong[column]:9}" for column in COLUMNS))


if __name__ == "__main__":
    main()
