"""Jobs without processes. They wait until the test runs them in its own thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from PySide6.QtCore import QCoreApplication

from semblance.app.shell.jobs import Jobs, WorkerPool
from semblance.core.tasks import Reporter


class ManualTask:
    """Replaces :class:`semblance.core.engine.Task`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.future: Future[Any] = Future()
        self._work = work

    def cancel(self) -> None:
        self.future.cancel()

    def stop(self) -> None:
        """The work here is never long enough to be stopped."""

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self._work())
        except Exception as error:  # noqa: BLE001 - passed on, as a process does
            self.future.set_exception(error)


class PartialResultReporter(Reporter):
    """Hands partial results to the job, as the engine does."""

    def __init__(self, listener: Callable[[str, object], object]) -> None:
        self._listener = listener

    def partial(self, result: object) -> None:
        self._listener("partial", result)


class ManualEngine:
    """Replaces :class:`semblance.core.engine.Engine`."""

    def __init__(self, pending: list[ManualTask]) -> None:
        self._tasks = pending

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: object = None, **kwargs: Any
    ) -> ManualTask:
        if callable(listener) and "reporter" in inspect.signature(function).parameters:
            kwargs["reporter"] = PartialResultReporter(listener)
        task = ManualTask(lambda: function(*args, **kwargs))
        self._tasks.append(task)
        return task

    def shutdown(self) -> None:
        """There is no process to end."""


class ManualJobs(Jobs):
    """``held`` are the waiting tasks. ``run_pending`` runs them and delivers their results."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[ManualTask] = []

    def run_pending(self) -> None:
        while self.pending:
            self.pending.pop(0).run()
            QCoreApplication.processEvents()
            while self._bridge.is_waiting:
                QCoreApplication.processEvents()

    def _engine(self, pool: WorkerPool) -> Any:
        return ManualEngine(self.pending)
