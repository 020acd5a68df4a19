"""Train metrics in the background and show the training curve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import TrainingRun
from semblance.core.language import tr, tr_name
from semblance.core.library.address import server_address
from semblance.core.workflows.metrics import train_metric
from semblance.core.workflows.metrics.train_metric import TrainResult
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_curve import CurvePoint
from semblance.core.workflows.searches import index_candidates


def train(context: Context, request: TrainRequest, title: str, rounds: int | None) -> Job | None:
    """Train one metric. It becomes the current metric when it is done."""
    path = context.state.path
    if path is None:
        return None
    state = context.state
    job = context.jobs.run(
        tr("Training {name}", name=title), train_metric.train_metric, path, request, can_stop=True
    )
    run = TrainingRun(request.name, request.learner, rounds)
    state.set_training(run)

    def show_run() -> None:
        """Show this training, unless another one is shown and still running."""
        current_run = state.training
        if state.path == path and (
            current_run is None or current_run.name == run.name or not current_run.running
        ):
            state.set_training(run)

    def add_point(point: CurvePoint) -> None:
        nonlocal run
        # The last round is reported again with its score.
        earlier = tuple(other for other in run.points[-1:] if other.round != point.round)
        run = replace(run, points=(*run.points[:-1], *earlier, point))
        show_run()

    def end_run() -> None:
        nonlocal run
        run = replace(run, running=False)
        if state.training is not None and state.training.name == run.name:
            show_run()

    def show(result: TrainResult) -> None:
        if result.warning:
            context.messages.warning(tr("{name} is trained.", name=result.metric), tr_name(result.warning))
        else:
            context.messages.info(tr("{name} is trained.", name=result.metric))

        def rank_by_metric() -> None:
            state.set_metric(result.metric)
            search_operations.rank(context)

        if state.path == path:
            library_operations.renew(context, rank_by_metric)
        _index(context, path, result.metric)

    job.partial.connect(add_point)
    job.ended.connect(end_run)
    return context.follow(job, show)


def _index(context: Context, path: Path, metric: str) -> None:
    """Build the search index of a new metric on a server, without which searches compare all cases."""
    if server_address(path) is None:
        return
    job = context.jobs.run(
        tr("Building the search index of {name}", name=metric), index_candidates.index_if_large, path, metric
    )
    context.follow(
        job, lambda _done: library_operations.renew(context) if context.state.path == path else None
    )
