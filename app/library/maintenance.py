"""Backing a library up, restoring one, and checking it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from semblance.app.shell import library_operations as libraries
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.imaging.limits import size_text
from semblance.core.language import tr
from semblance.core.workflows.library.exports import list_exports
from semblance.core.workflows.maintenance import backup, verify_library
from semblance.core.workflows.maintenance.backup import RestoreResult
from semblance.core.workflows.maintenance.problems import VerificationResult


def back_up(context: Context, file: Path) -> None:
    """Write the open library into ``file``, and say how large it became."""
    path = context.state.path
    if path is None:
        return
    job = context.jobs.run(tr("Backing up {name}", name=path.name), backup.back_up, path, file)

    def tell(document: dict[str, Any]) -> None:
        size = size_text(document["bytes"])
        if document["missing"]:
            context.messages.warning(
                tr(
                    "Saved {name} ({size}). {missing:,} files of the library are missing and not included.",
                    name=file.name,
                    size=size,
                    missing=len(document["missing"]),
                ),
                tr("File > Verify library… names them."),
            )
        else:
            context.messages.info(
                tr("Saved and checked {name} ({size}), without images.", name=file.name, size=size)
            )

    context.follow(job, tell)


def exports(context: Context, then: Callable[[list[dict[str, Any]]], None]) -> None:
    """What was exported from the open library goes to ``then``, the oldest first."""
    path = context.state.path
    if path is None:
        return
    job = context.jobs.run(
        tr("Reading the export log"),
        list_exports,
        path,
        channel="exports",
        quiet=True,
        lane=Lane.READ,
    )
    job.done.connect(then)
    job.failed.connect(context.messages.error)


def restore(context: Context, file: Path, library: Path) -> None:
    """Make ``library`` of the backup ``file`` and open it."""
    job = context.jobs.run(tr("Restoring {name}", name=file.name), backup.restore, file, library)

    def show(result: RestoreResult) -> None:
        if result.missing:
            context.messages.warning(
                tr("{missing:,} image files are not at their path.", missing=result.missing),
                tr("Choose File > Find moved images… to find them."),
            )
        libraries.open_library(context, Path(result.library))

    context.follow(job, show)


def check(
    context: Context, then: Callable[[VerificationResult], None], *, repair: bool = False
) -> Job | None:
    """Look at everything in the open library; ``then`` gets what was found. With ``repair`` mend it."""
    path = context.state.path
    if path is None:
        return None
    title = tr("Repairing {name}", name=path.name) if repair else tr("Verifying {name}", name=path.name)
    job = context.jobs.run(title, verify_library.verify_library, path, repair=repair, channel="check")

    def show(result: VerificationResult) -> None:
        if repair and context.state.path == path:
            libraries.renew(context)
        then(result)

    return context.follow(job, show)
