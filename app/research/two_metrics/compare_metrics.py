"""Compare two metrics on one query or on all cases, in jobs."""

from __future__ import annotations

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.searches.search import Search
from semblance.core.workflows.evaluation import compare_metrics


def compare(context: Context, left: str | Search, right: str | Search) -> Job | None:
    """Rank the present query under two metrics or refined searches. ``None`` without a query."""
    state = context.state
    if state.path is None or state.query is None:
        return None
    return context.jobs.run(
        tr("Comparing two metrics"),
        compare_metrics.compare_metrics,
        state.path,
        left,
        right,
        state.query,
        hide_same_patient=state.hide_same_patient,
        group_duplicates=state.group_duplicates,
        lane=Lane.SEARCH,
        channel="two metrics",
        quiet=True,
    )


def find_disagreements(
    context: Context, left: str | Search, right: str | Search, names: tuple[str, str]
) -> Job | None:
    """Search with every case under two metrics called ``names``. ``None`` without a library."""
    state = context.state
    if state.path is None:
        return None
    return context.jobs.run(
        tr("Searching with every case under {left} and {right}", left=names[0], right=names[1]),
        compare_metrics.disagreements,
        state.path,
        left,
        right,
        hide_same_patient=state.hide_same_patient,
        group_duplicates=state.group_duplicates,
        channel="disagreements",
    )
