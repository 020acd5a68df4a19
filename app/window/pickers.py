"""The pickers in the top bar: library, features, metric, and what the cases are ranked by."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction

from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.window.top_bar import Picker
from semblance.core.language import tr, tr_n
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.workflows.metrics.slider_steps import slider_of

if TYPE_CHECKING:
    from semblance.core.workflows.library.library_snapshot import MetricFacts


def make_pickers(context: Context) -> dict[str, Picker]:
    """Pickers by name that follow the state and change it."""
    state = context.state

    def recent() -> list[QAction]:
        return [
            _make_action(_library_title(path), path == state.path, partial(_open, path))
            for path in context.settings.recent
        ]

    def _open(path: LibraryLocation) -> None:
        from semblance.app.shell.library_operations import open_library

        if path != state.path:
            open_library(context, path)

    def feature_sets() -> list[QAction]:
        sets = state.library.feature_sets if state.library else ()
        return [
            _make_action(
                f"{s.name}   {tr_n('{n} case', '{n} cases', s.cases)}",
                s.name == state.features,
                partial(state.set_features, s.name),
            )
            for s in sets
        ]

    def choose(name: str) -> None:
        from semblance.app.metrics import emphasis_slider

        emphasis_slider.select_metric(context, name)

    def metrics() -> list[QAction]:
        available = state.library.metrics if state.library else ()
        # All steps of a slider are one choice here. The slider chooses the step.
        names = dict.fromkeys(_shown_name(m) for m in available)
        chosen = _shown_name(state.metric) if state.metric else ""
        return [_make_action(n, n == chosen, partial(choose, n)) for n in names]

    pickers = {
        "library": Picker(tr("Library"), recent),
        "features": Picker(tr("Features"), feature_sets),
        "metric": Picker(tr("Metric"), metrics),
        "ranked_by": Picker(tr("Ranked by"), metrics),
    }

    def follow() -> None:
        metric = _shown_name(state.metric) if state.metric else ""
        pickers["library"].set_value(state.library.name if state.library else "")
        pickers["features"].set_value(state.features)
        # Features can be chosen that the metric does not compare. Many metrics are named after theirs already.
        features = state.metric.features if state.metric else ""
        named = (
            metric if features in metric else tr("{metric} on {features}", metric=metric, features=features)
        )
        pickers["metric"].set_value(metric if features == state.features else named)
        pickers["ranked_by"].set_value(named)

    state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, state, follow)
    follow()
    return pickers


def _library_title(library: LibraryLocation) -> str:
    """The name of a library in a list; of one on a server with its server."""
    name = library_name(library)
    return name if isinstance(library, Path) else tr("{name} on {host}", name=name, host=library.host)


def _shown_name(metric: MetricFacts) -> str:
    """The name of a metric, or of the slider it is a step of."""
    belongs = slider_of(metric.card)
    return belongs[0] if belongs else metric.name


def _make_action(text: str, checked: bool, run: Callable[[], object]) -> QAction:
    action = QAction(text.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(checked)
    # `triggered` passes whether the action is checked, which `run` does not need.
    action.triggered.connect(lambda _checked: run())
    return action
