"""The slider and the step that the current metric belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semblance.core.language import tr
from semblance.core.workflows.metrics.slider_steps import Slider, SliderStep, slider_of, sliders_by_name

if TYPE_CHECKING:
    from semblance.app.shell.state import State


def sliders(state: State) -> dict[str, Slider]:
    """The sliders of the open library by name."""
    metrics = state.library.metrics if state.library else ()
    return sliders_by_name((metric.name, metric.card) for metric in metrics)


def current_step(state: State) -> tuple[Slider | None, SliderStep | None]:
    """The slider and the step of the current metric, or ``None`` for both."""
    name_and_place = slider_of(state.metric.card) if state.metric else None
    if name_and_place is None or state.metric is None:
        return None, None
    slider = sliders(state).get(name_and_place[0])
    step = (
        next((candidate for candidate in slider.steps if candidate.metric == state.metric.name), None)
        if slider
        else None
    )
    return slider, step


def unavailable_reason(state: State) -> str:
    """Why the slider is disabled, and what to do."""
    names = list(sliders(state))
    if state.metric is None:
        return tr("Visual to diagnostic similarity: there is no metric yet.")
    if names and slider_of(state.metric.card) is None:
        return tr(
            "{name} has one position. Select the metric {other} to move the slider.",
            name=state.metric.name,
            other=names[-1],
        )
    return tr(
        "{name} has one position. To move between visual and diagnostic similarity, choose "
        "Metric > Prepare visual–diagnostic slider.",
        name=state.metric.name,
    )
