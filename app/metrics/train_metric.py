"""Training metrics in the background, their curve growing as they train."""

from __future__ import annotations

from dataclasses import replace

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.state import TrainingRun
from semblance.core.language import tr, tr_name
from semblance.core.workflows.metrics import train_metric
from semblance.core.workflows.metrics.train_metric import TrainResult
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_curve import CurvePoint


def train(context: Context, request: TrainRequest, title: str, rounds: int | None) -> Job | None:
    """Train one metric; it becomes the current one when it is done."""
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
        """Show this training, unless another one is shown that still goes on."""
        shown = state.training
        if state.path == path and (shown is None or shown.name == run.name or not shown.running):
            state.set_training(run)

    def grow(point: CurvePoint) -> None:
        nonlocal run
        # The last round comes again, with its score.
        before = tuple(one for one in run.points[-1:] if one.round != point.round)
        run = replace(run, points=(*run.points[:-1], *before, point))
        show_run()

    def over() -> None:
        nonlocal run
        run = replace(run, running=False)
        if state.training is not None and state.training.name == run.name:
            show_run()

    def show(result: TrainResult) -> None:
        if result.warning:
            context.messages.warning(tr("{name} is trained.", name=result.metric), tr_name(result.warning))
        else:
            context.messages.info(tr("{name} is trained.", name=result.metric))

        def choose() -> None:
            state.set_metric(result.metric)
            search_operations.rank(context)

        if state.path == path:
            library_operations.renew(context, choose)

    job.partial.connect(grow)
    job.ended.connect(over)
    return context.follow(job, show)
