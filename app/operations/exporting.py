"""Noting in the library's log of exports what the window writes by itself."""

from __future__ import annotations

from app.context import Context
from app.jobs import Lane
from core.workflows.library import exported


def note(context: Context, what: str, kind: str) -> None:
    """Add a line to the log of the open library."""
    if context.state.path is not None:
        job = context.jobs.run("", exported.note, context.state.path, what, kind, lane=Lane.LOOK, quiet=True)
        job.failed.connect(context.messages.error)
