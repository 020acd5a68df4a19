"""Jobs without processes for a whole window. Each runs at the next turn of the event loop."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QTimer

from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from tests.helpers.manual_jobs import ManualEngine, ManualTask


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
