"""Jobs without processes for a whole window. Each runs at the next turn of the event loop, or some turns later."""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer

from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from semblance.core.engine import Progress
from semblance.core.tasks import Cancelled
from semblance.core.workflows.library.close_library import close_library
from tests.helpers.manual_jobs import ManualEngine, ManualTask, PartialResultReporter

#: Of the turns of the event loop that a late task waits, one is chosen.
_TURNS = (0, 0, 1, 3, 10)


class PromptTasks(list[ManualTask]):
    """Tasks that run at the next turn of the event loop."""

    def append(self, task: ManualTask) -> None:
        super().append(task)
        QTimer.singleShot(0, self.run)

    def run(self) -> None:
        while self:
            self.pop(0).run()


class PromptJobs(Jobs):
    """Jobs without processes, which would take seconds to start for every window."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = PromptTasks()

    def preload(self, pool: WorkerPool, function: object) -> None:
        """There is no process to preload."""

    def wait(self, job: Job, seconds: float = 10.0) -> None:
        """Run the tasks first, because the event loop waits here."""
        self._tasks.run()
        super().wait(job, seconds)

    def _engine(self, pool: WorkerPool) -> Any:
        return ManualEngine(self._tasks)


class LateTasks(PromptTasks):
    """Tasks of one pool: each waits some turns of ``turn_ms``, and for those before it, as in a process."""

    def __init__(self, rng: random.Random, turn_ms: int) -> None:
        super().__init__()
        self._rng, self._turn_ms, self._turns = rng, turn_ms, 0

    def append(self, task: ManualTask) -> None:
        list.append(self, task)
        if len(self) == 1:
            self._wait(self._rng.choice(_TURNS))

    def _wait(self, turns: int) -> None:
        self._turns = turns
        QTimer.singleShot(self._turn_ms if turns else 0, self._next_turn)

    def _next_turn(self) -> None:
        if self._turns:
            self._wait(self._turns - 1)
        elif self:
            self.pop(0).run()
            if self:
                self._wait(self._rng.choice(_TURNS))


class LateJobs(Jobs):
    """Jobs without processes whose results arrive as from these: late, those of two pools in any order, as copies.

    ``apart(work)`` calls the work. One that takes longer than ``limit_s`` of processor time is cancelled where it
    asks. What waits for a network has a process.
    """

    def __init__(
        self, parent: QObject | None = None, *, seed: int = 0, turn_ms: int = 0, limit_s: float = 3.0
    ) -> None:
        super().__init__(parent)
        self.apart: Callable[[Callable[[], Any]], Any] = lambda work: work()
        self._rng, self._turn_ms, self._limit_s = random.Random(seed), turn_ms, limit_s
        self._tasks: dict[WorkerPool, LateTasks] = {}

    def preload(self, pool: WorkerPool, function: object) -> None:
        """There is no process to preload."""

    def wait(self, job: Job, seconds: float = 10.0) -> None:
        """Run the tasks first, because the event loop waits here."""
        for tasks in self._tasks.values():
            tasks.run()
        super().wait(job, seconds)

    def close_library(self, library: Any) -> None:
        """All pools are this one process."""
        self.run("", close_library, library, pool=WorkerPool.SEARCH, quiet=True)
        super().close_library(library)

    def _engine(self, pool: WorkerPool) -> Any:
        if pool in (WorkerPool.NETWORK, WorkerPool.WATCH):
            return super()._engine(pool)
        tasks = self._tasks.setdefault(pool, LateTasks(self._rng, self._turn_ms))
        return _CopyingEngine(tasks, self._limit_s, self.apart)


class _CopyingEngine(ManualEngine):
    def __init__(
        self, pending: list[ManualTask], limit_s: float, apart: Callable[[Callable[[], Any]], Any]
    ) -> None:
        super().__init__(pending)
        self._limit_s, self._apart = limit_s, apart

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Any = None, **kwargs: Any
    ) -> ManualTask:
        sent = pickle.dumps((function, args, kwargs))

        def work() -> Any:
            called, copies, named = pickle.loads(sent)
            reporter = _LimitedReporter(listener, self._limit_s)
            return pickle.loads(pickle.dumps(called(*copies, reporter=reporter, **named)))

        task = ManualTask(lambda: self._apart(work))
        self._tasks.append(task)
        return task


class _LimitedReporter(PartialResultReporter):
    def __init__(self, listener: Callable[[str, object], object], limit_s: float) -> None:
        super().__init__(listener)
        self._end = time.process_time() + limit_s

    def progress(self, done: int, total: int | None, what: str) -> None:
        self._listener("progress", Progress(done, total, what))

    def partial(self, result: object) -> None:
        super().partial(pickle.loads(pickle.dumps(result)))

    def check_cancelled(self) -> None:
        if time.process_time() > self._end:
            raise Cancelled
