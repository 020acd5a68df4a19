"""What operations and panels are given: the state, the jobs, the messages and the settings of one window."""

from __future__ import annotations

from dataclasses import dataclass

from app.jobs import Jobs
from app.messages import Messages
from app.settings import Settings
from app.state import State


@dataclass(frozen=True, eq=False)
class Context:
    """One window's parts that are not widgets."""

    state: State
    jobs: Jobs
    messages: Messages
    settings: Settings
