"""Jobs of a whole window without processes: each runs as soon as the event loop comes to it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QTimer

from semblance.app.shell.jobs import Job, Jobs, Lane
from tests.helpers.held_jobs import HeldEngine, HeldTask


class PromptTasks(list[HeldTask]):
    """Each task runs here as soon as the event loop comes to it."""

    def append(self, task: HeldTask) -> None:
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

    def preload(self, lane: Lane, function: object) -> None:
        """There is no process to warm up."""

    def wait(self, job: Job, seconds: float = 10.0) -> None:
        """The event loop, which would run it, is what waits."""
        self._tasks.run()
        super().wait(job, seconds)

    def _engine(self, lane: Lane) -> Any:
        return HeldEngine(self._tasks)
