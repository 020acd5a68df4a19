"""What operations and panels are given: state, jobs, messages, settings and commands of one window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from semblance.app.shell.actions import Actions
from semblance.app.shell.jobs import Job, Jobs
from semblance.app.shell.messages import Messages
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import State


@dataclass(frozen=True, eq=False)
class Context:
    """What every part of one window uses; none of it knows the window."""

    state: State
    jobs: Jobs
    messages: Messages
    settings: Settings
    actions: Actions

    def follow(self, job: Job, done: Callable[[Any], object]) -> Job:
        """``done`` gets what ``job`` gives; what goes wrong with it is told in the window."""
        job.done.connect(done)
        job.failed.connect(self.messages.error)
        return job
