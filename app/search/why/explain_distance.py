"""Request the explanation of a ranked case, in the process that searches."""

from __future__ import annotations

from collections.abc import Callable

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.searches.search import Search
from semblance.core.workflows.searches import compare_cases, explain_distance
from semblance.core.workflows.searches.compare_cases import ImageComparison
from semblance.core.workflows.searches.explain_distance import Explanation
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: Channels of the jobs of the panel.
EXPLANATION_CHANNEL, IMAGES_CHANNEL = "why", "why images"


def explain(
    context: Context,
    ranked_search: RankedSearch,
    case: str,
    distance: float,
    done: Callable[[Explanation], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """Explain to ``done`` why ``case`` is at ``distance`` in a ranking. An unfinished explanation is dropped."""
    if context.state.path is None:
        return
    context.jobs.cancel_channel(search_operations.PRELOAD)
    job = context.jobs.run(
        tr("Explaining"),
        explain_distance.explain_distance,
        context.state.path,
        ranked_search.search,
        case,
        shown=distance,
        lane=Lane.SEARCH,
        channel=EXPLANATION_CHANNEL,
        quiet=True,
    )
    job.done.connect(done)
    job.failed.connect(failed)


def compare_images(
    context: Context,
    ranked_search: RankedSearch,
    case: str,
    done: Callable[[ImageComparison], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """Give ``done`` the images of the query and of a ranked case, with the regions that agree."""
    if context.state.path is None:
        return
    job = context.jobs.run(
        tr("Comparing places"),
        compare_cases.compare_images,
        context.state.path,
        ranked_search.search,
        case,
        lane=Lane.DRAW,
        channel=IMAGES_CHANNEL,
        quiet=True,
    )
    job.done.connect(done)
    job.failed.connect(failed)


def preload(context: Context, search: Search) -> None:
    """Read what ranking without a feature group needs, in the process that ranks. Any other request drops it."""
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


def rank_without(context: Context, groups: tuple[str, ...]) -> None:
    """Rank again without ``groups`` of features; with all of them if ``groups`` is empty."""
    before = context.state.search
    context.state.change_search(without=groups)
    if context.state.search != before:
        search_operations.rank(context)
