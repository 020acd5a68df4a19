"""Compute the map of a library in the background."""

from __future__ import annotations

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.core.language import tr
from semblance.core.library.location import library_name
from semblance.core.workflows.evaluation import map_library


def make_map(context: Context) -> Job | None:
    """Start the job that maps the library under the current metric. ``None`` without a metric."""
    state = context.state
    if state.path is None or state.metric is None:
        return None
    return context.jobs.run(
        tr("Mapping {library} under {metric}", library=library_name(state.path), metric=state.metric.name),
        map_library.map_library,
        state.path,
        state.metric.name,
        channel="map",
        can_stop=True,
    )
