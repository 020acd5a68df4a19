"""An engine without processes: work runs when it is submitted. Each process would load the program for a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from semblance.core.engine import Engine, Listener, Progress, cluster
from semblance.core.tasks import Reporter


class TaskHere:
    """Replaces :class:`semblance.core.engine.Task`; it is over."""

    def __init__(self) -> None:
        self.future: Future[Any] = Future()

    def result(self) -> Any:
        return self.future.result()

    def cancel(self) -> None:
        """Nothing to cancel."""


class _ReporterHere(Reporter):
    """Hands progress and partial results to a listener, as the engine does."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener

    def progress(self, done: int, total: int | None, what: str) -> None:
        if self._listener is not None:
            self._listener("progress", Progress(done, total, what))

    def partial(self, result: object) -> None:
        if self._listener is not None:
            self._listener("partial", result)


class EngineHere:
    """Replaces :class:`semblance.core.engine.Engine`."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers or 1

    def __enter__(self) -> EngineHere:
        return self

    def __exit__(self, *_: object) -> None:
        """There is no process to end."""

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Listener | None = None, **kwargs: Any
    ) -> TaskHere:
        task = TaskHere()
        try:
            task.future.set_result(function(*args, reporter=_ReporterHere(listener), **kwargs))
        except Exception as error:  # noqa: BLE001 - passed on, as a process does
            task.future.set_exception(error)
        return task


def open_engine_here(
    workers: int | None, scheduler: str = "", paths: Sequence[Path] = ()
) -> EngineHere | Engine | cluster.Cluster:
    """Replaces :func:`semblance.core.engine.cluster.open_engine`."""
    return cluster.open_engine(workers, scheduler, paths) if scheduler else EngineHere(workers)
