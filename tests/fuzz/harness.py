"""Runs mutated copies in a child process that a parent watches: it may neither die nor hang nor grow."""

from __future__ import annotations

import contextlib
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.file_kinds import KINDS

#: Processor time for one copy. A process without a word for so much longer hangs in something else, however busy the
#: computer is.
SECONDS = 5
_SILENCE = 40 * SECONDS
BYTES = 1 << 30
#: Address space that a process has before it reads anything: libraries, not pixels.
_LIBRARIES = 3 << 30

#: Of a header in the form of Python 2, which is read all the same.
_HARMLESS = "ignore:Reading `.npy` or `.npz` file required additional header parsing:UserWarning"

READ, REFUSED = "read", "refused"


@dataclass
class Outcome:
    """How many copies were read and refused; what went wrong: (number, what); the slowest and the largest."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    bytes: int = 0


def run(kind: str, numbers: Sequence[int], seed: int) -> Outcome:
    """Read the copies ``numbers`` in child processes; one that dies or hangs is reported and replaced."""
    outcome, waiting = Outcome(), list(numbers)
    while waiting:
        child = subprocess.Popen(
            [
                sys.executable,
                "-W",
                "error",
                "-W",
                _HARMLESS,
                "-m",
                "tests.fuzz",
                "--child",
                kind,
                "--seed",
                str(seed),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert child.stdin is not None
        assert child.stdout is not None
        with child:
            if child.stdout.readline().strip() != "ready":
                raise RuntimeError(f"python -m tests.fuzz --child {kind} does not start")
            while waiting:
                number = waiting.pop(0)
                answer = _answer(child, number)
                what, _, cost = answer.partition(" | ")
                if what in (READ, REFUSED):
                    outcome.counts[what] += 1
                    seconds, peak = cost.split()
                    outcome.seconds = max(outcome.seconds, float(seconds))
                    outcome.bytes = max(outcome.bytes, int(peak))
                    continue
                outcome.wrong.append((number, what))
                child.kill()
                break
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
    return outcome


def _answer(child: subprocess.Popen[str], number: int) -> str:
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(f"{number}\n")
        child.stdin.flush()
    except BrokenPipeError:
        return "the process was gone"
    ready, _, _ = select.select([child.stdout], [], [], _SILENCE)
    if not ready:
        return "hangs"
    return child.stdout.readline().strip() or f"the process died ({child.wait()})"


def serve(name: str, seed: int) -> None:
    """The child: reads the copies whose numbers it receives, under a limit of memory."""
    kind = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        seeds = kind.seeds(place)
        for number in range(len(seeds) if kind.damaged else 0):
            # What is loaded with the first file of a kind is no cost of a mutated one.
            kind.read(seeds[number], place)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES + _LIBRARIES, BYTES + _LIBRARIES))
        print("ready", flush=True)
        for line in sys.stdin:
            print(_outcome(name, seeds, int(line), seed, place), flush=True)


def _outcome(name: str, seeds: Sequence[bytes], number: int, seed: int, place: Path) -> str:
    kind = KINDS[name]
    before, began = _peak(), time.process_time()
    try:
        what = READ if kind.read(kind.copy(seeds, number, seed), place) else REFUSED
    except BaseException as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    took, peak = time.process_time() - began, _peak()
    if took > SECONDS:
        return f"{took:.1f} s"
    if peak > before and peak > BYTES:
        return f"{peak >> 20} MB"
    return f"{what} | {took:.3f} {peak}"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
