"""What a program and the processes it started hold: memory, threads, open files; and whether it grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Growth allowed after warm-up, of the mean of the last quarter over that of the first.
ALLOWED = 0.05


@dataclass(frozen=True)
class Sample:
    """At one moment, of all processes together: memory in bytes, threads, open handles, processes; and the
    memory of ``each``, the program itself first."""

    seconds: float
    memory: int
    threads: int
    handles: int
    processes: int
    each: tuple[int, ...] = ()

    @classmethod
    def take(cls, seconds: float, pid: int | None = None) -> Sample:
        """Of the process ``pid`` (default: this one) and all it started."""
        every = family(pid or os.getpid())
        facts = [_facts(one) for one in every]
        sums = (sum(fact[place] for fact in facts) for place in range(3))
        return cls(seconds, *sums, len(every), tuple(fact[0] for fact in facts))


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text(encoding="latin-1").rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def _facts(pid: int) -> tuple[int, int, int]:
    """Resident memory, threads and handles; zeros of a process that has just ended."""
    folder = Path(f"/proc/{pid}")
    try:
        status = (folder / "status").read_text(encoding="latin-1")
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        memory = 1024 * int(lines.get("VmRSS", "0 kB").split()[0])
        return memory, int(lines["Threads"]), len(list((folder / "fd").iterdir()))
    except (OSError, KeyError, ValueError):
        return 0, 0, 0


def growth(values: Sequence[float]) -> float:
    """By what share the mean of the last quarter is above that of the first; below zero where it shrank."""
    quarter = max(1, len(values) // 4)
    first, last = float(np.mean(values[:quarter])), float(np.mean(values[-quarter:]))
    return last / first - 1.0 if first else 0.0


def grown(samples: Sequence[Sample], allowed: float = ALLOWED) -> list[str]:
    """A line for each of memory, threads, handles and processes that grew by more than ``allowed``."""
    lines = []
    for name in ("memory", "threads", "handles", "processes"):
        share = growth([getattr(sample, name) for sample in samples])
        if share > allowed:
            lines.append(f"{name} grew by {share:.1%}")
    return lines
