"""Back up, restore, verify and repair a library, and read its export log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from semblance.app.shell import library_operations as libraries
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.library.location import LibraryLocation, library_location
from semblance.core.limits import size_text
from semblance.core.workflows.library.exports import list_exports
from semblance.core.workflows.maintenance import backup, verify_library
from semblance.core.workflows.maintenance.backup import RestoreResult
from semblance.core.workflows.maintenance.problems import VerificationResult
from semblance.core.workflows.searches import index_candidates
from semblance.core.workflows.searches.index_candidates import IndexedMetric


def back_up(context: Context, file: Path) -> None:
    """Back up the open library into ``file`` and show the size of the file."""
    path = context.state.path
    if path is None:
        return
    job = context.jobs.run(tr("Backing up {name}", name=path.name), backup.back_up, path, file)

    def show(summary: dict[str, Any]) -> None:
        size = size_text(summary["bytes"])
        if summary["missing"]:
            context.messages.warning(
                tr(
                    "Saved {name} ({size}). {missing:,} files of the library are missing and not included.",
                    name=file.name,
                    size=size,
                    missing=len(summary["missing"]),
                ),
                tr("File > Verify library… names them."),
            )
        else:
            context.messages.info(
                tr("Saved and checked {name} ({size}), without images.", name=file.name, size=size)
            )

    context.follow(job, show)


def update_indexes(context: Context) -> Job | None:
    """Build or update the search indexes of the open library on its server, and show what was measured."""
    path = context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Updating the search indexes"), index_candidates.index_candidates, path, channel=f"index {path}"
    )

    def show(done: list[IndexedMetric]) -> None:
        lines = [
            tr("{metric}: all cases are compared. {why}", metric=one.metric, why=translate(one.none))
            if one.candidates is None
            else tr(
                "{metric}: {candidates} candidates contain {recall} of the 20 nearest.",
                metric=one.metric,
                candidates=format_number(one.candidates, ","),
                recall=format_number(one.recall or 0.0, ".1%"),
            )
            for one in done
        ]
        context.messages.info(
            tr_n("{n} search index was updated.", "{n} search indexes were updated.", len(done)),
            " ".join(lines),
        )
        if context.state.path == path:
            libraries.renew(context)

    context.follow(job, show)
    return job


def read_exports(context: Context, then: Callable[[list[dict[str, Any]]], None]) -> None:
    """Call ``then`` with the exports of the open library, the oldest first."""
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


def restore(context: Context, file: Path, library: LibraryLocation) -> None:
    """Restore the backup ``file`` as ``library`` and open it."""
    job = context.jobs.run(tr("Restoring {name}", name=file.name), backup.restore, file, library)

    def show(result: RestoreResult) -> None:
        if result.missing:
            context.messages.warning(
                tr("{missing:,} image files are not at their path.", missing=result.missing),
                tr("Choose File > Find moved images… to find them."),
            )
        libraries.open_library(context, library_location(result.library))

    context.follow(job, show)


def verify(
    context: Context, then: Callable[[VerificationResult], None], *, repair: bool = False
) -> Job | None:
    """Verify the open library and call ``then`` with the result. With ``repair`` also repair it."""
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
