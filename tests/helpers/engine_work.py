"""Work for worker processes: functions that the tests of the engine submit."""

from __future__ import annotations

import os
import time
from pathlib import Path

from semblance.core.engine import Engine
from semblance.core.errors import BadInput
from semblance.core.tasks import SILENT, Reporter


class Awkward(Exception):
    """Cannot be rebuilt from its arguments, as some libraries' errors cannot."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__("awkward")


def square(number: int, *, reporter: Reporter) -> int:
    return number * number


def nap(*, reporter: Reporter) -> None:
    time.sleep(0.3)


def counting(until: int, *, reporter: Reporter) -> int:
    for number in range(until):
        reporter.progress(number, until, "counting")
        reporter.partial(number)
    reporter.progress(until, until, "counting")
    return until


def endless(marker: Path, *, reporter: Reporter) -> str:
    """Says that it runs by making ``marker`` (with its process id), then waits for the request to end."""
    _say(marker)
    while not reporter.stop_requested:
        reporter.check_cancelled()
        time.sleep(0.005)
    return "stopped"


def deaf(marker: Path, *, reporter: Reporter) -> None:
    """Talks without end and never listens."""
    _say(marker)
    while True:
        reporter.partial(b"news" * 50_000)


def refusing(*, reporter: Reporter) -> None:
    raise BadInput("The file 'x.png' is empty.", "Copy it again.")


def defective(*, reporter: Reporter) -> None:
    raise ZeroDivisionError("a defect")


def awkward(*, reporter: Reporter) -> None:
    raise Awkward(1, 2)


def nested(numbers: list[int], *, reporter: Reporter) -> list[int]:
    with Engine(2) as engine:
        return [task.result() for task in [engine.submit(square, number) for number in numbers]]


def nested_endless(marker: Path, *, reporter: Reporter) -> None:
    _say(marker)
    with Engine(1) as engine:
        engine.submit(endless, marker.with_suffix(".inner")).result()


def facts(*, reporter: Reporter) -> dict[str, object]:
    """How the worker was set up."""
    import sys

    return {
        "threads": {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")},
        "nice": os.nice(0),
        "qt": any(name.startswith("PySide6") for name in sys.modules),
    }


def _say(marker: Path) -> None:
    part = marker.with_suffix(".part")
    part.write_text(str(os.getpid()))
    part.replace(marker)


def thinking(marker: Path, *, reporter: Reporter) -> None:
    """Says that it runs, and never asks whether it should end."""
    _say(marker)
    while True:
        time.sleep(60)


_noted: list[str] = []


def note(word: str, *, reporter: Reporter = SILENT) -> list[str]:
    """What this process received since it was last cleared."""
    _noted.append(word)
    return list(_noted)


def forget_noted() -> None:
    _noted.clear()
