"""Why a ranked case is where it is: asked of the asking process, told when it comes."""

from __future__ import annotations

from collections.abc import Callable

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.search import Search
from semblance.core.workflows.searches import compare_images, explain_distance
from semblance.core.workflows.searches.compare_images import ImageComparison
from semblance.core.workflows.searches.explain_distance import Explanation
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: Channels of what the Explanation panel asks.
WHY, IMAGES = "why", "why images"


def explain(
    context: Context,
    asked: RankedSearch,
    case: str,
    distance: float,
    told: Callable[[Explanation], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """``told`` why ``case`` is at ``distance`` in a ranking; an explanation still under way is dropped."""
    if context.state.path is None:
        return
    context.jobs.cancel_channel(search_operations.PRELOAD)
    job = context.jobs.run(
        tr("Explaining"),
        explain_distance.explain_distance,
        context.state.path,
        asked.search,
        case,
        shown=distance,
        lane=Lane.SEARCH,
        channel=WHY,
        quiet=True,
    )
    job.done.connect(told)
    job.failed.connect(failed)


def agree(
    context: Context,
    asked: RankedSearch,
    case: str,
    told: Callable[[ImageComparison], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """The images of the query and of a ranked case, with the places where they agree."""
    if context.state.path is None:
        return
    job = context.jobs.run(
        tr("Comparing places"),
        compare_images.compare_images,
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
        explain_distance.preload_feature_groups,
        context.state.path,
        search,
        lane=Lane.SEARCH,
        channel=search_operations.PRELOAD,
        quiet=True,
    )


def leave_out(context: Context, groups: tuple[str, ...]) -> None:
    """Rank anew without ``groups`` of features, with all where there are none."""
    before = context.state.search
    context.state.change_search(without=groups)
    if context.state.search != before:
        search_operations.rank(context)
