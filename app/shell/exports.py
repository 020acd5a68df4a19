"""Files exported from a library: the message when they are written, and the library's export log."""

from __future__ import annotations

from pathlib import Path

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.workflows.library import exports


def log_export(context: Context, what: str, kind: str) -> None:
    """Add a line to the export log of the open library, for files that the window itself writes."""
    if context.state.path is not None:
        job = context.jobs.run(
            "", exports.log_window_export, context.state.path, what, kind, lane=Lane.READ, quiet=True
        )
        job.failed.connect(context.messages.error)


def report_saved_file(context: Context, job: Job, path: Path) -> Job:
    """Show the path of the file once ``job`` has written it."""
    return context.follow(job, lambda _result: context.messages.info(tr("Saved {path}.", path=path)))
