"""The three choices in the top bar: library, features, metric."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QAction

from app.context import Context
from app.operations import library as libraries
from app.operations import searching
from app.windows.top_bar import Picker


def make_pickers(context: Context) -> list[Picker]:
    """Pickers that follow the state and change it."""
    state = context.state

    def recent() -> list[QAction]:
        return [
            _action(path.stem, path == state.path, lambda p=path: _open(p))
            for path in context.settings.recent
        ]

    def _open(path: Path) -> None:
        if path != state.path:
            libraries.open_library(context, path)

    def feature_sets() -> list[QAction]:
        sets = state.library.feature_sets if state.library else ()
        return [
            _action(
                f"{s.name}   {s.cases:,} cases",
                s.name == state.features,
                lambda n=s.name: state.set_features(n),
            )
            for s in sets
        ]

    def metrics() -> list[QAction]:
        there = state.library.metrics if state.library else ()
        chosen = state.metric.name if state.metric else ""
        return [_action(m.name, m.name == chosen, lambda n=m.name: choose(n)) for m in there]

    def choose(name: str) -> None:
        state.set_metric(name)
        searching.rank(context)

    pickers = [
        Picker("Library", 184, recent),
        Picker("Features", 168, feature_sets),
        Picker("Metric", 168, metrics),
    ]

    def follow() -> None:
        pickers[0].set_value(state.library.name if state.library else "")
        pickers[1].set_value(state.features)
        pickers[2].set_value(state.metric.name if state.metric else "")

    for signal in (state.library_changed, state.cases_changed, state.metric_changed):
        signal.connect(follow)
    follow()
    return pickers


def _action(text: str, checked: bool, run: object) -> QAction:
    action = QAction(text.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(checked)
    action.triggered.connect(run)
    return action
