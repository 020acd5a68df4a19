"""Run, resume, show and export experiments in jobs, and draw their plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.core.language import tr
from semblance.core.reports.plot import PlotLayout
from semblance.core.research.spec import ExperimentSpec
from semblance.core.workflows.research import experiments

Document = Mapping[str, Any]
DocumentCallback = Callable[[Document], object]


def run(
    context: Context, spec: ExperimentSpec, folder: Path, workers: int, scheduler: str, then: DocumentCallback
) -> Job:
    """Measure the missing cells in ``folder``. ``then`` is called with each partial document and the final one."""
    function = experiments.run_experiment
    return _start_job(context, folder, then, function, spec, folder, workers=workers, scheduler=scheduler)


def resume(context: Context, folder: Path, workers: int, scheduler: str, then: DocumentCallback) -> Job:
    """Resume the experiment in ``folder``."""
    function = experiments.resume_experiment
    return _start_job(context, folder, then, function, folder, workers=workers, scheduler=scheduler)


def _start_job(
    context: Context,
    folder: Path,
    then: DocumentCallback,
    function: Callable[..., Document],
    *args: Any,
    **keywords: Any,
) -> Job:
    title = tr("Experiment {name}", name=folder.name)
    job = context.jobs.run(title, function, *args, channel="experiment", **keywords)

    def show_summary(document: Document) -> None:
        then(document)
        cells = document["cells"]
        counts = {"name": folder.name, "done": cells["done"], "failed": cells["failed"]}
        context.messages.info(
            tr("Experiment {name}: {done} cells done, {failed} failed.", **counts)
            if cells["failed"]
            else tr("Experiment {name}: {done} cells done.", **counts)
        )

    job.partial.connect(then)
    return context.follow(job, show_summary)


def show(context: Context, folder: Path, then: DocumentCallback) -> Job:
    """Call ``then`` with the document of the finished cells in ``folder``."""
    job = context.jobs.run(
        tr("Opening {name}", name=folder.name),
        experiments.show_experiment,
        folder,
        pool=WorkerPool.READ,
        channel="experiment shown",
        quiet=True,
    )
    return context.follow(job, then)


def export(context: Context, folder: Path, target: Path, *, identified: bool) -> Job:
    """Export tables, plots and the script into ``target``."""
    job = context.jobs.run(
        tr("Exporting {name}", name=folder.name),
        experiments.export_experiment,
        folder,
        target,
        identified=identified,
        pool=WorkerPool.DRAW,
    )
    return context.follow(
        job,
        lambda files: context.messages.info(
            tr(
                "Wrote {files} files into {folder}; repeat.sh measures the same numbers again.",
                files=len(files),
                folder=target,
            )
        ),
    )


def draw_ranks(context: Context, test: Document, layout: PlotLayout, then: Callable[[bytes], object]) -> Job:
    """Call ``then`` with a PNG of the average ranks of ``test``."""
    job = context.jobs.run(
        tr("Drawing ranks"),
        experiments.draw_ranks,
        test,
        layout,
        pool=WorkerPool.DRAW,
        channel="experiment ranks",
        quiet=True,
    )
    return context.follow(job, then)
