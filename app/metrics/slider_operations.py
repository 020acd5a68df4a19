"""Prepare the slider from visual to diagnostic similarity, and rank by its steps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from semblance.app.metrics.slider_state import current_step, sliders
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.core.language import tr
from semblance.core.workflows.metrics import slider
from semblance.core.workflows.metrics.slider_steps import DEFAULT_PLACE, Slider, SliderStep
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import rank_cases


def rank_by_step(context: Context, step: SliderStep) -> None:
    """Rank by another step of the slider."""
    if context.state.metric is not None and context.state.metric.name != step.metric:
        context.state.set_metric(step.metric)
        search_operations.rank(context)


def select_metric(context: Context, name: str) -> None:
    """Rank by the metric ``name``. If ``name`` is a slider, rank by its step nearest to the present one."""
    chosen = sliders(context.state).get(name)
    if chosen is None:
        context.state.set_metric(name)
    else:
        step = current_step(context.state)[1]
        context.state.set_metric(chosen.nearest(step.place if step else DEFAULT_PLACE).metric)
    search_operations.rank(context)
    if chosen is not None:
        preload_steps(context, chosen)


def prepare_slider(context: Context, request: TrainRequest) -> Job | None:
    """Train all steps of a slider in the background. Its default step becomes the current metric."""
    state, path = context.state, context.state.path
    if path is None:
        return None
    job = context.jobs.run(
        tr("Preparing {name}", name=request.name), slider.prepare_slider, path, request, can_stop=True
    )

    def show(prepared: Slider) -> None:
        context.messages.info(tr("{name} is ready: move it in the top bar.", name=prepared.name))
        if state.path == path:
            library_operations.renew(context, partial(select_metric, context, prepared.name))

    return context.follow(job, show)


def preload_steps(context: Context, steps: Slider) -> None:
    """Rank once by each step at low priority, so that moving the slider is fast."""
    path, search = context.state.path, context.state.search
    if path is None or search is None:
        return
    for step in steps.steps:
        context.jobs.run(
            tr("Preparing the slider"),
            rank_cases.rank_cases,
            path,
            replace(search, metric=step.metric),
            k=1,
            lane=Lane.SEARCH,
            channel=f"preload {step.metric}",
            quiet=True,
        )
