"""Files that leave the library: told once they are written, noted in its log of exports."""

from __future__ import annotations

from pathlib import Path

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.workflows.library import exports


def log_export(context: Context, what: str, kind: str) -> None:
    """Add a line to the log of the open library: what the window writes by itself."""
    if context.state.path is not None:
        job = context.jobs.run(
            "", exports.note_window_export, context.state.path, what, kind, lane=Lane.READ, quiet=True
        )
        job.failed.connect(context.messages.error)


def report_saved_file(context: Context, job: Job, path: Path) -> Job:
    """Say where the file is that ``job`` writes."""
    return context.follow(job, lambda _result: context.messages.info(tr("Saved {path}.", path=path)))
