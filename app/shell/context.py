"""What operations and panels are given: the state, the jobs, the messages and the settings of one window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from semblance.app.shell.jobs import Job, Jobs
from semblance.app.shell.messages import Messages
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import State


@dataclass(frozen=True, eq=False)
class Context:
    """One window's parts that are not widgets."""

    state: State
    jobs: Jobs
    messages: Messages
    settings: Settings

    def follow(self, job: Job, done: Callable[[Any], object]) -> Job:
        """``done`` gets what ``job`` gives; what goes wrong with it is told in the window."""
        job.done.connect(done)
        job.failed.connect(self.messages.error)
        return job
