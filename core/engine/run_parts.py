"""Run one function on many parts of some work, in as many worker processes as are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from typing import TypeVar

from semblance.core.engine import Engine, default_workers
from semblance.core.tasks import Reporter

Part = TypeVar("Part")
Result = TypeVar("Result")


def run_parts(
    function: Callable[..., Result], parts: Sequence[Part], *, title: str, reporter: Reporter
) -> list[Result]:
    """``function(part, reporter=...)`` of each of ``parts``, in their order; ``title`` stands beside the progress.

    Raises:
        Exception: the first that ``function`` raised; the other parts are cancelled.
    """
    if not parts:
        return []
    with Engine(min(default_workers(), len(parts))) as engine:
        tasks = [engine.submit(function, part) for part in parts]
        waiting = {task.future for task in tasks}
        try:
            while waiting:
                reporter.progress(len(tasks) - len(waiting), len(tasks), title)
                reporter.check_cancelled()
                _, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
            return [task.result() for task in tasks]
        except BaseException:
            for task in tasks:
                task.cancel()
            raise
