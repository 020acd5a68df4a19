"""Why a ranked case is where it is: asked of the asking process, told when it comes."""

from __future__ import annotations

from collections.abc import Callable

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.search import Search
from semblance.core.workflows.searches import agreeing, explaining
from semblance.core.workflows.searches.agreeing import Agreement
from semblance.core.workflows.searches.asking import Asked
from semblance.core.workflows.searches.explaining import Why

#: Channels of what the Why panel asks.
WHY, IMAGES = "why", "why images"


def explain(
    context: Context,
    asked: Asked,
    case: str,
    distance: float,
    told: Callable[[Why], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """``told`` why ``case`` is at ``distance`` in a ranking; an explanation still under way is dropped."""
    if context.state.path is None:
        return
    context.jobs.drop(search_operations.READY)
    job = context.jobs.run(
        tr("Explaining"),
        explaining.why,
        context.state.path,
        asked.search,
        case,
        shown=distance,
        lane=Lane.ASK,
        channel=WHY,
        quiet=True,
    )
    job.done.connect(told)
    job.failed.connect(failed)


def agree(
    context: Context,
    asked: Asked,
    case: str,
    told: Callable[[Agreement], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """The images of the query and of a ranked case, with the places where they agree."""
    if context.state.path is None:
        return
    job = context.jobs.run(
        tr("Comparing places"),
        agreeing.agreement,
        context.state.path,
        asked.search,
        case,
        lane=Lane.DRAW,
        channel=IMAGES,
        quiet=True,
    )
    job.done.connect(told)
    job.failed.connect(failed)


def make_ready(context: Context, search: Search) -> None:
    """Read what ranking without a group needs, in the process that ranks; dropped for whatever is asked."""
    if context.state.path is None:
        return
    context.jobs.run(
        "",
        explaining.ready,
        context.state.path,
        search,
        lane=Lane.ASK,
        channel=search_operations.READY,
        quiet=True,
    )


def leave_out(context: Context, groups: tuple[str, ...]) -> None:
    """Rank anew without ``groups`` of features, with all where there are none."""
    before = context.state.search
    context.state.change_search(without=groups)
    if context.state.search != before:
        search_operations.rank(context)
