"""Reports of what is shown, written in the background."""

from __future__ import annotations

from pathlib import Path

from app.context import Context
from core.workflows import reporting


def write_report(context: Context, path: Path, *, identified: bool = False) -> None:
    """Write the present ranking to ``path``; de-identified unless told otherwise."""
    state = context.state
    if state.path is None or state.metric is None or state.query is None:
        return
    job = context.jobs.run(
        f"Writing {path.name}",
        reporting.write_search_report,
        state.path,
        state.metric.name,
        state.query,
        path,
        identified=identified,
        hide_same_patient=state.hide_same_patient,
        fold_duplicates=state.fold_alike,
    )
    job.done.connect(lambda _result: context.messages.info(f"{path} is written."))
    job.failed.connect(context.messages.error)
