"""Write reports of the present search, and reopen the search of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.app.shell import file_dialogs, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.language import tr
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.search import Search
from semblance.core.workflows.reports import embedded_search
from semblance.core.workflows.reports import write_reports as workflow


def write_report(context: Context, path: Path, options: ReportOptions | None = None) -> Job | None:
    """Write a report of the present ranking to ``path``. It is de-identified unless ``options`` say otherwise."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Writing {name}", name=path.name),
        workflow.write_report_files,
        state.path,
        state.search,
        path,
        options,
        window_level=state.window_level,
    )
    return file_dialogs.report_saved_file(
        context, job, path, can_be_opened=path.suffix in (".pdf", ".html", ".csv")
    )


def write_reports(
    context: Context, folder: Path, cases: Sequence[str], kind: str, options: ReportOptions | None = None
) -> Job | None:
    """Write a report for each of ``cases``, with the metric and options of the present search."""
    state = context.state
    if state.path is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Writing reports into {name}", name=folder.name),
        workflow.write_reports,
        state.path,
        state.search,
        list(cases),
        folder,
        kind,
        options,
    )

    def show_summary(result: workflow.BatchResult) -> None:
        summary = tr("{reports:,} reports are in {folder}.", reports=len(result.files), folder=folder)
        if result.failed:
            case, reason = result.failed[0]
            context.messages.warning(
                tr(
                    "{summary} {failed:,} cases could not be used as queries.",
                    summary=summary,
                    failed=len(result.failed),
                ),
                tr("The first, {case}: {reason}", case=case, reason=reason),
            )
        else:
            context.messages.info(summary)

    return context.follow(job, show_summary)


def reopen_search(context: Context, report: Path) -> Job | None:
    """Show the search that a JSON report was made from."""
    state = context.state
    path = state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Opening {name}", name=report.name), embedded_search.reopen_report, path, report, channel="reopen"
    )

    def show(search: Search) -> None:
        if state.path == path:
            state.restore_search(search)
            search_operations.rank(context)

    return context.follow(job, show)
