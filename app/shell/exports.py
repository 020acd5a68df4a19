"""Files exported from a library: the message when they are written, and the library's export log."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.messages import Action
from semblance.core.language import tr, tr_n
from semblance.core.workflows.library import exports


def log_export(context: Context, what: str, kind: str) -> None:
    """Add a line to the export log of the open library, for files that the window itself writes."""
    if context.state.path is not None:
        job = context.jobs.run(
            "", exports.log_window_export, context.state.path, what, kind, lane=Lane.READ, quiet=True
        )
        job.failed.connect(context.messages.error)


def report_saved_file(context: Context, job: Job, path: Path, *, can_be_opened: bool = False) -> Job:
    """Show the path of the file once ``job`` has written it, and offer to open its folder, or itself if that can be.

    A job that returns a list of files wrote the others beside it.
    """

    library = context.state.path

    def show(result: object) -> None:
        def open_url(local: Path) -> None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(local)))

        actions: list[Action] = [(tr("Open"), lambda: open_url(path))] if can_be_opened else []
        actions.append((tr("Open folder"), lambda: open_url(path.parent)))
        more = len(result) - 1 if isinstance(result, list) else 0
        beside = tr_n(
            "Saved {path} and {n} more file beside it.",
            "Saved {path} and {n} more files beside it.",
            more,
            path=path,
        )
        saved = beside if more else tr("Saved {path}.", path=path)
        context.messages.info(saved, actions=actions, topic="saved", library=library)

    return context.follow(job, show)
