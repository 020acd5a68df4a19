"""Ranked searches as the window gets them."""

from __future__ import annotations

from semblance.core.searches.search import Search
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult


def unrefined_search(result: SearchResult | None) -> RankedSearch | None:
    """``result`` as the ranked search of a search without refinement."""
    return None if result is None else RankedSearch(Search(result.metric, result.query), result)


def ids(result: SearchResult) -> list[str]:
    """The ids of the ranked cases, nearest first."""
    return [case.case_id for case in result.ranked]


def ranked(search: RankedSearch) -> list[str]:
    """The ids of the ranked cases of a ranked search, nearest first."""
    return ids(search.result)
