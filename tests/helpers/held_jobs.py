"""Jobs without processes: each waits until the test lets it run, here and at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from PySide6.QtCore import QCoreApplication

from semblance.app.shell.jobs import Jobs, Lane
from semblance.core.tasks import Reporter


class HeldTask:
    """Stands in for :class:`semblance.core.engine.Task`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.future: Future[Any] = Future()
        self._work = work

    def cancel(self) -> None:
        self.future.cancel()

    def stop(self) -> None:
        """Nothing here goes on long enough."""

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self._work())
        except Exception as error:  # noqa: BLE001 - handed on, as a process does
            self.future.set_exception(error)


class _Telling(Reporter):
    """Hands partial results to the job, as the engine does."""

    def __init__(self, listener: Callable[[str, object], object]) -> None:
        self._listener = listener

    def partial(self, result: object) -> None:
        self._listener("partial", result)


class HeldEngine:
    """Stands in for :class:`semblance.core.engine.Engine`."""

    def __init__(self, held: list[HeldTask]) -> None:
        self._held = held

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: object = None, **kwargs: Any
    ) -> HeldTask:
        if callable(listener) and "reporter" in inspect.signature(function).parameters:
            kwargs["reporter"] = _Telling(listener)
        task = HeldTask(lambda: function(*args, **kwargs))
        self._held.append(task)
        return task

    def shutdown(self) -> None:
        """There is nothing to end."""


class HeldJobs(Jobs):
    """``let_run`` runs what waits, and delivers the results."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[HeldTask] = []

    def let_run(self) -> None:
        while self.held:
            self.held.pop(0).run()
            QCoreApplication.processEvents()

    def _engine(self, lane: Lane) -> Any:
        return HeldEngine(self.held)
