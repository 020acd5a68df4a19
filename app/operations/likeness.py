"""The slider from visual to diagnostic likeness: preparing its steps, and moving among them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from app.context import Context
from app.jobs import Job, Lane
from app.operations import library, searching
from app.state import State
from core.language import tr
from core.workflows.metrics import slider
from core.workflows.metrics.slider import BEGIN, Slider, SliderStep
from core.workflows.metrics.training import TrainRequest
from core.workflows.searches import asking


def sliders(state: State) -> dict[str, Slider]:
    """Those of the open library by name."""
    metrics = state.library.metrics if state.library else ()
    return slider.gather((metric.name, metric.card) for metric in metrics)


def current(state: State) -> tuple[Slider | None, SliderStep | None]:
    """The slider of the current metric and the step it is."""
    belongs = slider.slider_of(state.metric.card) if state.metric else None
    if belongs is None or state.metric is None:
        return None, None
    found = sliders(state).get(belongs[0])
    step = next((one for one in found.steps if one.metric == state.metric.name), None) if found else None
    return found, step


def why_not(state: State) -> str:
    """Why the slider cannot be moved, and what to do."""
    there = list(sliders(state))
    if state.metric is None:
        return tr("Visual to diagnostic likeness: there is no metric yet.")
    if there and slider.slider_of(state.metric.card) is None:
        return tr(
            "{name} stands at one place. Choose the metric {other} to move between.",
            name=state.metric.name,
            other=there[-1],
        )
    return tr(
        "{name} stands at one place. To move between visual and diagnostic likeness, prepare a slider: "
        "Metric > Prepare visual–diagnostic slider.",
        name=state.metric.name,
    )


def move(context: Context, step: SliderStep) -> None:
    """Rank by another step."""
    if context.state.metric is not None and context.state.metric.name != step.metric:
        context.state.set_metric(step.metric)
        searching.rank(context)


def choose(context: Context, name: str) -> None:
    """Rank by a metric, or by the step of the slider ``name`` that is nearest to where it stood."""
    found = sliders(context.state).get(name)
    if found is None:
        context.state.set_metric(name)
    else:
        here = current(context.state)[1]
        context.state.set_metric(found.nearest(here.place if here else BEGIN).metric)
    searching.rank(context)
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
            library.renew(context, partial(choose, context, made.name))

    return context.follow(job, show)


def warm(context: Context, found: Slider) -> None:
    """Lay out the steps nobody has looked at yet, one after another, behind what is asked."""
    path, search = context.state.path, context.state.search
    if path is None or search is None:
        return
    for step in found.steps:
        context.jobs.run(
            tr("Preparing the slider"),
            asking.ask,
            path,
            replace(search, metric=step.metric),
            k=1,
            lane=Lane.ASK,
            channel=f"lay out {step.metric}",
            quiet=True,
        )
