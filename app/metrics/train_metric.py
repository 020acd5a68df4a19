"""Training metrics in the background, their curve growing as they train."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import TrainingRun
from semblance.core.language import tr, tr_name
from semblance.core.workflows.evaluation import hardest_queries
from semblance.core.workflows.evaluation.hardest_queries import HardestQueries
from semblance.core.workflows.metrics import score_metric, train_metric
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


def show_hardest(context: Context, finding: str = "") -> Job | None:
    """Show in Library the held-out queries that the current metric serves worst, of ``finding`` if given."""
    state = context.state
    if state.path is None or state.metric is None:
        return None
    path, metric = state.path, state.metric.name
    job = context.jobs.run(
        tr("Finding the hardest queries of {name}", name=metric),
        hardest_queries.hardest_queries,
        path,
        metric,
        finding,
        lane=Lane.DRAW,
        channel="hardest",
    )

    def show(found: HardestQueries) -> None:
        if state.path != path:
            return
        if not found.rows:
            context.messages.info(tr("All held-out queries have only their own finding among the nearest."))
            return
        state.set_picked(np.array(sorted(found.rows), dtype=np.int64))
        context.messages.info(
            tr(
                "Library shows the {n} hardest of {asked:,} held-out queries: "
                "accuracy @{k} from {low:.2f} to {high:.2f}.",
                n=len(found.rows),
                asked=found.asked,
                k=found.k,
                low=found.accuracies[0],
                high=found.accuracies[-1],
            )
        )

    return context.follow(job, show)


def score(context: Context) -> Job | None:
    """Measure the current metric again on its held-out cases."""
    state = context.state
    if state.path is None or state.metric is None:
        return None
    job = context.jobs.run(
        tr("Scoring {name}", name=state.metric.name),
        score_metric.score_metric,
        state.path,
        state.metric.name,
        channel="score",
    )
    name = state.metric.name
    again = partial(search_operations.rank_by_scored, context, name)
    return context.follow(job, lambda _result: library_operations.renew(context, again))
