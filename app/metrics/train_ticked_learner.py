"""Train metrics in the background and show the training curve."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import TrainingRun
from semblance.core.language import tr, tr_name
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.workflows.evaluation.scored_metrics import compared_accuracies
from semblance.core.workflows.metrics import train_metric
from semblance.core.workflows.metrics.stored_metric import set_current_metric
from semblance.core.workflows.metrics.train_metric import TrainResult
from semblance.core.workflows.metrics.train_request import TrainRequest, has_same_settings
from semblance.core.workflows.metrics.training_curve import CurvePoint
from semblance.core.workflows.searches import open_metrics

#: Topic of the message that a trained metric is not used.
_KEPT = "trained metric"
#: The rounds of a training within this time are shown together.
_REDRAW_MS = 50


def train_ticked_learner(context: Context, request: TrainRequest) -> Job | None:
    """Train one metric. It becomes the current metric when it is done, unless the present one is better."""
    path = context.state.location
    if path is None:
        return None
    state = context.state
    job = context.jobs.run(
        tr("Training {name}", name=request.name), train_metric.train_metric, path, request, can_stop=True
    )
    rounds = (request.settings or {}).get("rounds")
    run = TrainingRun(request.name, request.learner, rounds if isinstance(rounds, int) else None)
    state.set_training(run)

    def show_run() -> None:
        """Show this training, unless another one is shown and still running."""
        current_run = state.training
        if state.location == path and (
            current_run is None or current_run.name == run.name or not current_run.running
        ):
            state.set_training(run)

    def add_point(point: CurvePoint) -> None:
        nonlocal run
        # The last round is reported again with its score.
        earlier = tuple(other for other in run.points[-1:] if other.round != point.round)
        run = replace(run, points=(*run.points[:-1], *earlier, point))
        if not redraw.isActive():
            redraw.start()

    def end_run() -> None:
        nonlocal run
        run = replace(run, running=False)
        redraw.stop()
        if state.training is not None and state.training.name == run.name:
            show_run()

    def show(result: TrainResult) -> None:
        if result.warning:
            context.messages.warning(
                tr("{name} is trained.", name=result.metric), tr_name(result.warning), library=path
            )
        if state.location == path:
            library_operations.renew(context, partial(_choose, context, result.metric))
        elif not result.warning:
            context.messages.info(tr("{name} is trained.", name=result.metric))
        _index(context, path, result.metric)

    # A quick learner reports hundreds of rounds at once.
    redraw = one_shot(job, show_run, _REDRAW_MS)
    job.partial.connect(add_point)
    job.ended.connect(end_run)
    return context.follow(job, show)


def _choose(context: Context, name: str) -> None:
    """Rank by the trained metric ``name``, unless the current one is better, and say which is used."""
    state, current = context.state, context.state.metric
    library = state.library
    trained = (
        next((one for one in library.metrics if one.name == name), None) if library is not None else None
    )
    if library is None or trained is None:
        return
    compared = None if current is None else compared_accuracies(library, name, current.name)
    twin = next(
        (
            one.name
            for one in library.metrics
            if one is not trained and has_same_settings(one.card, trained.card)
        ),
        "",
    )
    same = tr("It was trained with the same settings as {metric}.", metric=twin) if twin else ""
    if current is None or current.name == name or compared is None or (compared[1] > compared[2]):
        _use(context, name)
        context.messages.info(tr("{name} is trained.", name=name), same)
        return
    k, accuracy, accuracy_now = compared
    if library.current_metric == name:
        # Without a record the latest metric is current at the next start.
        job = context.jobs.run(
            "", set_current_metric, library.location, current.name, pool=WorkerPool.READ, quiet=True
        )
        job.failed.connect(context.messages.error)
    measured = tr(
        "Accuracy @{k} on cases not used for training. {metric} is still used.", k=k, metric=current.name
    )
    context.messages.info(
        tr(
            "{name}: {accuracy:.2f}, current: {now:.2f}. Kept.",
            name=name,
            accuracy=accuracy,
            now=accuracy_now,
        ),
        f"{same} {measured}".strip(),
        [(tr("Use {name}", name=name), partial(_use, context, name))],
        topic=_KEPT,
        library=library.location,
    )


def _use(context: Context, name: str) -> None:
    context.messages.close(_KEPT)
    context.state.set_metric(name)
    search_operations.rank(context)


def _index(context: Context, path: LibraryLocation, metric: str) -> None:
    """Build the search index of a new metric on a server, without which searches compare all cases."""
    if not isinstance(path, ServerAddress):
        return
    job = context.jobs.run(
        tr("Building the search index of {name}", name=metric), open_metrics.prepare_searches, path, metric
    )
    context.follow(
        job, lambda _done: library_operations.renew(context) if context.state.location == path else None
    )
