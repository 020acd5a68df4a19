"""Reports of what is shown, written in the background, and reports opened again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.context import Context
from app.jobs import Job
from app.operations import searching
from core.reports.options import ReportOptions
from core.searches.search import Search
from core.workflows import reporting, sealing
from core.workflows.reporting import BatchResult


def write_report(context: Context, path: Path, options: ReportOptions | None = None) -> Job | None:
    """Write the present ranking to ``path``; de-identified unless told otherwise."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        f"Writing {path.name}", reporting.write_search_report, state.path, state.search, path, options
    )
    job.done.connect(lambda _result: context.messages.info(f"{path} is written."))
    job.failed.connect(context.messages.error)
    return job


def write_reports(
    context: Context, folder: Path, cases: Sequence[str], kind: str, options: ReportOptions | None = None
) -> Job | None:
    """A report for each of ``cases``, asked as the present search is."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        f"Writing reports into {folder.name}",
        reporting.write_reports,
        state.path,
        state.search,
        list(cases),
        folder,
        kind,
        options,
    )

    def tell(result: BatchResult) -> None:
        said = f"{len(result.files):,} reports are in {folder}."
        if result.failed:
            case, reason = result.failed[0]
            context.messages.warning(
                f"{said} {len(result.failed):,} cases could not be asked.", f"The first, {case}: {reason}"
            )
        else:
            context.messages.info(said)

    job.done.connect(tell)
    job.failed.connect(context.messages.error)
    return job


def reopen(context: Context, report: Path) -> Job | None:
    """Show the search that a JSON report was made of."""
    state = context.state
    path = state.path
    if path is None:
        return None
    job = context.jobs.run(f"Opening {report.name}", sealing.reopen_report, path, report, channel="reopen")

    def show(search: Search) -> None:
        if state.path == path:
            state.restore_search(search)
            searching.rank(context)

    job.done.connect(show)
    job.failed.connect(context.messages.error)
    return job
