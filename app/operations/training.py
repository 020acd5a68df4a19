"""Training metrics in the background, their curve growing as they train."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from app.context import Context
from app.jobs import Job
from app.operations import library, searching
from app.state import TrainingRun
from core.language import named, tr
from core.workflows.metrics import training
from core.workflows.metrics.training import CurvePoint, TrainRequest, TrainResult


def train(context: Context, request: TrainRequest, title: str, rounds: int | None) -> Job | None:
    """Train one metric; it becomes the current one when it is done."""
    path = context.state.path
    if path is None:
        return None
    state = context.state
    job = context.jobs.run(
        tr("Training {name}", name=title), training.train_metric, path, request, can_stop=True
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
        run = replace(run, points=(*run.points, point))
        show_run()

    def over() -> None:
        nonlocal run
        run = replace(run, running=False)
        if state.training is not None and state.training.name == run.name:
            show_run()

    def show(result: TrainResult) -> None:
        if result.warning:
            context.messages.warning(tr("{name} is trained.", name=result.metric), named(result.warning))
        else:
            context.messages.info(tr("{name} is trained.", name=result.metric))

        def choose() -> None:
            state.set_metric(result.metric)
            searching.rank(context)

        if state.path == path:
            library.renew(context, choose)

    job.partial.connect(grow)
    job.ended.connect(over)
    return context.follow(job, show)


def score(context: Context) -> Job | None:
    """Measure the current metric again on its held-out cases."""
    state = context.state
    if state.path is None or state.metric is None:
        return None
    job = context.jobs.run(
        tr("Scoring {name}", name=state.metric.name),
        training.score_metric,
        state.path,
        state.metric.name,
        channel="score",
    )
    name = state.metric.name
    again = partial(searching.rank_by_scored, context, name)
    return context.follow(job, lambda _result: library.renew(context, again))
