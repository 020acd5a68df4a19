"""Drawing plots in the background and saving them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.core.language import tr
from semblance.core.reports.curves import Curve
from semblance.core.reports.figures import MapDrawing
from semblance.core.reports.plot import PlotLayout, ThemeName
from semblance.core.workflows.reports import export_plots

#: Key of the setting that shows accuracies from 0 to 1.
WHOLE_AXIS = "plot_whole_axis"


def draw(
    context: Context,
    kind: str,
    curves: Sequence[Curve],
    layout: PlotLayout,
    then: Callable[[bytes], None],
    *,
    channel: str,
) -> Job:
    """Draw the plot and call ``then`` with a PNG. A later call on the same channel cancels this one."""
    job = context.jobs.run(
        tr("Drawing a plot"),
        export_plots.draw,
        kind,
        tuple(curves),
        layout,
        pool=WorkerPool.DRAW,
        channel=channel,
        quiet=True,
    )
    return context.follow(job, then)


def save(
    context: Context,
    path: Path,
    plots: Mapping[str, Sequence[Curve]],
    *,
    theme: ThemeName = "print",
    titles: Mapping[str, str] | None = None,
    note: str = "",
) -> Job:
    """Write plots to files and show their names. ``note``: on what they were measured."""
    job = context.jobs.run(
        tr("Saving {name}", name=path.name),
        export_plots.export_plots,
        path,
        dict(plots),
        theme=theme,
        titles=dict(titles or {}),
        note=note,
        whole_axis=context.settings.flag(WHOLE_AXIS, default=False),
        library=context.state.location,
        pool=WorkerPool.DRAW,
    )

    return _report_saved_files(context, job)


def save_map(context: Context, path: Path, drawing: MapDrawing, *, theme: ThemeName) -> Job:
    """Write a map to a file and show where it is."""
    job = context.jobs.run(
        tr("Saving {name}", name=path.name),
        export_plots.export_map,
        path,
        drawing,
        theme=theme,
        library=context.state.location,
        pool=WorkerPool.DRAW,
    )
    return _report_saved_files(context, job)


def save_scores(
    context: Context, path: Path, text: str, *, what: str = "scores", identified: bool = False
) -> Job:
    """Write a table as CSV and show where it is. ``what``: its name in the library's export log."""
    job = context.jobs.run(
        tr("Saving {name}", name=path.name),
        export_plots.export_scores,
        path,
        text,
        library=context.state.location,
        what=what,
        identified=identified,
        pool=WorkerPool.DRAW,
    )
    return _report_saved_files(context, job)


def _report_saved_files(context: Context, job: Job) -> Job:
    def show(files: list[Path]) -> None:
        names = ", ".join(file.name for file in files)
        context.messages.info(tr("Saved {names} in {folder}.", names=names, folder=files[0].parent))

    return context.follow(job, show)
