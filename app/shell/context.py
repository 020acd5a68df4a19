"""What operations and panels receive: state, jobs, messages, settings and commands of one window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from semblance.app.shell.actions import Actions
from semblance.app.shell.case_menu import CaseMenu
from semblance.app.shell.jobs import Job, Jobs
from semblance.app.shell.messages import Messages
from semblance.app.shell.settings import Settings
from semblance.app.shell.state import WindowState
from semblance.core.library.location import LibraryLocation

if TYPE_CHECKING:
    from semblance.app.shell.measured_figures import MeasuredFigures


@dataclass(frozen=True, eq=False)
class Context:
    """What every part of one window uses. It does not depend on the window."""

    state: WindowState
    jobs: Jobs
    messages: Messages
    settings: Settings
    actions: Actions
    case_menu: CaseMenu = field(default_factory=CaseMenu)

    @cached_property
    def figures(self) -> MeasuredFigures:
        """What is measured on the images."""
        from semblance.app.shell.measured_figures import MeasuredFigures

        return MeasuredFigures(self.state, self.jobs, self.messages)

    def follow(
        self, job: Job, done: Callable[[Any], object], *, library: LibraryLocation | None = None
    ) -> Job:
        """Call ``done`` with the result of ``job``; show its error in the window. ``library``: the result belongs to
        it, and ``done`` is not called after another one was opened."""

        def deliver(result: Any) -> None:
            if library is None or self.state.location == library:
                done(result)

        job.done.connect(deliver)
        job.failed.connect(self.messages.error)
        return job
