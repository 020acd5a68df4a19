"""``make attack``: damaged copies of every kind of file and answer, small files that would fill the memory, kills at
random moments, killed transfers from a PACS, and full and write-protected disks. Ends with a table; exit status 1 if
anything in it is not 0."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack.bombs import BOMBS
from tests.attack.transfers import prepared
from tests.fuzz.file_kinds import KINDS
from tests.fuzz.harness import READ, REFUSED, Outcome, run
from tests.helpers import orthanc
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
    parser.add_argument("--transfers", type=int, default=300)
    parser.add_argument("--answers", type=int, default=1000, help="malformed answers of a PACS")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default="mutants,answers,bombs,kills,transfers,disks", help="parts, with commas between"
    )
    options = parser.parse_args()
    chosen = set(options.only.split(","))
    parts: list[Part] = []
    if "mutants" in chosen:
        kinds = [kind for kind in KINDS if kind != "bomb" and not KINDS[kind].spoken]
        parts += _mutants(kinds, options.mutants, options.seed)
    if "answers" in chosen:
        spoken = [kind for kind in KINDS if KINDS[kind].spoken]
        parts += _mutants(spoken, options.answers, options.seed)
    if "bombs" in chosen:
        parts.append(_of_outcome("bomb", run("bomb", range(len(BOMBS)), options.seed)))
    if "transfers" in chosen:
        parts.append(_transfers(options.transfers, options.seed))
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


def _mutants(kinds: list[str], count: int, seed: int) -> list[Part]:
    """So many damaged copies, shared out over ``kinds``."""
    shares = [range(len(range(place, count, len(kinds)))) for place in range(len(kinds))]
    return [_of_outcome(kind, run(kind, numbers, seed)) for kind, numbers in zip(kinds, shares, strict=True)]


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


def _transfers(count: int, seed: int) -> Part:
    part, rng = Part("transfers", count), random.Random(seed)
    has_orthanc = orthanc.program() is not None
    if not has_orthanc:
        print("  transfers: Orthanc is not installed; only the PACS in this process is asked", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        prepared(Path(folder), with_orthanc=has_orthanc) as transfers,
    ):
        for number in range(count):
            try:
                transfers.try_moment(number, rng)
            except AssertionError as error:
                print(f"  transfer {number}: {str(error).splitlines()[0]}", flush=True)
                part.wrong["lost"] += 1
        part.read = transfers.killed
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
