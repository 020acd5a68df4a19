"""Ranked searches as the window gets them."""

from __future__ import annotations

from dataclasses import replace

from semblance.core.searches.search import PLACE, Search
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult


def unrefined_search(result: SearchResult | None) -> RankedSearch | None:
    """``result`` as the ranked search of a search without refinement."""
    return None if result is None else RankedSearch(Search(result.metric, result.query), result)


def with_places(result: SearchResult, *places: MatchedPlace) -> SearchResult:
    """``result`` as a search by place gives it: the first cases with these places, the others with the last of them."""
    lines = [
        replace(case, place=places[min(number, len(places) - 1)]) for number, case in enumerate(result.ranked)
    ]
    return replace(result, ranked=tuple(lines), compared_by=PLACE)


def ids(result: SearchResult) -> list[str]:
    """The ids of the ranked cases, nearest first."""
    return [case.case_id for case in result.ranked]


def ranked(search: RankedSearch) -> list[str]:
    """The ids of the ranked cases of a ranked search, nearest first."""
    return ids(search.result)
