"""Running experiments in the background, showing what is there, exporting it and drawing its plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.research.spec import ExperimentSpec
from semblance.core.workflows.research import experiments

Document = Mapping[str, Any]
Then = Callable[[Document], object]


def run(
    context: Context, spec: ExperimentSpec, folder: Path, workers: int, scheduler: str, then: Then
) -> Job:
    """Measure what is not finished in ``folder``; ``then`` hears tables as they grow, and all at the end."""
    function = experiments.run_experiment
    return _measure(context, folder, then, function, spec, folder, workers=workers, scheduler=scheduler)


def resume(context: Context, folder: Path, workers: int, scheduler: str, then: Then) -> Job:
    """Go on with the experiment in ``folder``."""
    function = experiments.resume_experiment
    return _measure(context, folder, then, function, folder, workers=workers, scheduler=scheduler)


def _measure(
    context: Context, folder: Path, then: Then, function: Callable[..., Document], *args: Any, **more: Any
) -> Job:
    title = tr("Experiment {name}", name=folder.name)
    job = context.jobs.run(title, function, *args, channel="experiment", **more)

    def tell(document: Document) -> None:
        then(document)
        cells = document["cells"]
        counts = {"name": folder.name, "done": cells["done"], "failed": cells["failed"]}
        context.messages.info(
            tr("Experiment {name}: {done} cells done, {failed} failed.", **counts)
            if cells["failed"]
            else tr("Experiment {name}: {done} cells done.", **counts)
        )

    job.partial.connect(then)
    return context.follow(job, tell)


def show(context: Context, folder: Path, then: Then) -> Job:
    """What the finished cells in ``folder`` say."""
    job = context.jobs.run(
        tr("Opening {name}", name=folder.name),
        experiments.show_experiment,
        folder,
        lane=Lane.READ,
        channel="experiment shown",
        quiet=True,
    )
    return context.follow(job, then)


def export(context: Context, folder: Path, to: Path, *, identified: bool) -> Job:
    """Write tables, plots and the script, and say where."""
    job = context.jobs.run(
        tr("Exporting {name}", name=folder.name),
        experiments.export_experiment,
        folder,
        to,
        identified=identified,
        lane=Lane.DRAW,
    )
    return context.follow(
        job,
        lambda files: context.messages.info(
            tr(
                "Wrote {files} files into {folder}; repeat.sh measures the same numbers again.",
                files=len(files),
                folder=to,
            )
        ),
    )


def draw(context: Context, test: Document, then: Callable[[bytes], object], **look: Any) -> Job:
    """A PNG of the average ranks of ``test`` goes to ``then``."""
    job = context.jobs.run(
        tr("Drawing ranks"),
        experiments.draw_ranks,
        test,
        lane=Lane.DRAW,
        channel="experiment ranks",
        quiet=True,
        **look,
    )
    return context.follow(job, then)
