"""Where the current metric stands between visual and diagnostic likeness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semblance.core.language import tr
from semblance.core.workflows.metrics.slider_steps import Slider, SliderStep, slider_of, sliders_by_name

if TYPE_CHECKING:
    from semblance.app.shell.state import State


def sliders(state: State) -> dict[str, Slider]:
    """Those of the open library by name."""
    metrics = state.library.metrics if state.library else ()
    return sliders_by_name((metric.name, metric.card) for metric in metrics)


def current(state: State) -> tuple[Slider | None, SliderStep | None]:
    """The slider of the current metric and the step it is."""
    belongs = slider_of(state.metric.card) if state.metric else None
    if belongs is None or state.metric is None:
        return None, None
    found = sliders(state).get(belongs[0])
    step = next((one for one in found.steps if one.metric == state.metric.name), None) if found else None
    return found, step


def why_not(state: State) -> str:
    """Why the slider cannot be moved, and what to do."""
    there = list(sliders(state))
    if state.metric is None:
        return tr("Visual to diagnostic similarity: there is no metric yet.")
    if there and slider_of(state.metric.card) is None:
        return tr(
            "{name} has one position. Select the metric {other} to move the slider.",
            name=state.metric.name,
            other=there[-1],
        )
    return tr(
        "{name} has one position. To move between visual and diagnostic similarity, choose "
        "Metric > Prepare visual–diagnostic slider.",
        name=state.metric.name,
    )
