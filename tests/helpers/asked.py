"""Rankings as the window gets them."""

from __future__ import annotations

from semblance.core.searches.search import Search
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult


def asked_for(result: SearchResult | None) -> RankedSearch | None:
    """``result`` as the answer to a search that nothing refines."""
    return None if result is None else RankedSearch(Search(result.metric, result.query), result)


def ids(result: SearchResult) -> list[str]:
    """The ranked cases."""
    return [case.case_id for case in result.ranked]


def ranked(asked: RankedSearch) -> list[str]:
    """The cases of an answer, the nearest first."""
    return ids(asked.result)
