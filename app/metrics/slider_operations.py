"""The slider from visual to diagnostic likeness: preparing its steps, and moving among them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from semblance.app.metrics.slider_state import current, sliders
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.workflows.metrics import slider
from semblance.core.workflows.metrics.slider_steps import DEFAULT_PLACE, Slider, SliderStep
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import rank_cases


def move(context: Context, step: SliderStep) -> None:
    """Rank by another step."""
    if context.state.metric is not None and context.state.metric.name != step.metric:
        context.state.set_metric(step.metric)
        search_operations.rank(context)


def choose(context: Context, name: str) -> None:
    """Rank by a metric, or by the step of the slider ``name`` that is nearest to where it stood."""
    found = sliders(context.state).get(name)
    if found is None:
        context.state.set_metric(name)
    else:
        here = current(context.state)[1]
        context.state.set_metric(found.nearest(here.place if here else DEFAULT_PLACE).metric)
    search_operations.rank(context)
    if found is not None:
        warm(context, found)


def prepare(context: Context, request: TrainRequest) -> Job | None:
    """Train all steps of a slider in the background; its usual step becomes the current metric."""
    state, path = context.state, context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Preparing {name}", name=request.name), slider.prepare_slider, path, request, can_stop=True
    )

    def show(made: Slider) -> None:
        context.messages.info(tr("{name} is ready: move it in the top bar.", name=made.name))
        if state.path == path:
            library_operations.renew(context, partial(choose, context, made.name))

    return context.follow(job, show)


def warm(context: Context, found: Slider) -> None:
    """Lay out the steps nobody has looked at yet, one after another, behind what is asked."""
    path, search = context.state.path, context.state.search
    if path is None or search is None:
        return
    for step in found.steps:
        context.jobs.run(
            tr("Preparing the slider"),
            rank_cases.rank_cases,
            path,
            replace(search, metric=step.metric),
            k=1,
            lane=Lane.SEARCH,
            channel=f"lay out {step.metric}",
            quiet=True,
        )
