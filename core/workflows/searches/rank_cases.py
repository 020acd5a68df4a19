"""Ask as a person does in the window: with the judgements, examples and concepts of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.searches.contradictions import Contradiction, contradictions
from semblance.core.searches.ledger import Entry
from semblance.core.searches.relevance_feedback import trust
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.loaded_metric import open_metric
from semblance.core.workflows.searches.query_features import embed_query
from semblance.core.workflows.searches.refinement_session import RefinementSession, open_refinement
from semblance.core.workflows.searches.reliability import REFINED
from semblance.core.workflows.searches.search_result import SearchResult, nearest_cases, ranked_result
from semblance.core.workflows.searches.shift_query import shift_query


@dataclass(frozen=True)
class RankedSearch:
    """The ranking of a search, its ledger, and what in it disagrees.

    ``shifts``: by how many ranks each ranked case stands before where it stood under the metric as it was,
    in the order of ``result.ranked``; empty where nothing refines the metric. ``trust``: how far the clicks
    are followed, 0 to 1, strength apart. ``refused``: why this metric cannot follow clicks, examples and
    concepts, and was asked without them. ``left_out``: sentences on examples and concepts that are gone.
    """

    search: Search
    result: SearchResult
    shifts: tuple[int, ...] = ()
    entries: tuple[Entry, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    trust: float = 0.0
    refused: BadInput | None = None
    left_out: tuple[str, ...] = ()


def rank_cases(library: Path, search: Search, *, k: int = 20, reporter: Reporter = SILENT) -> RankedSearch:
    """The ``k`` cases nearest to what ``search`` asks.

    Without judgements in force, examples and concepts this is
    :func:`semblance.core.workflows.searches.search_result.nearest_cases`.

    Raises:
        BadArguments: no such metric, or not exactly one of case and image given.
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    loaded = open_metric(library, search.metric, reporter, without=search.without)
    entries = loaded.ledger(search.ledger).entries_without_shown if search.ledger else ()
    judged = search.strength > 0.0 and any(entry.undone is None for entry in entries)
    if not judged and not search.moved:
        return RankedSearch(search, rank_by_metric(library, search, k, reporter), entries=entries)
    try:
        session = open_refinement(library, search.metric, reporter, without=search.without)
    except BadInput as refused:
        return RankedSearch(
            search, rank_by_metric(library, search, k, reporter), entries=entries, refused=refused
        )
    return rank_refined(session, search, k)


def rank_by_metric(library: Path, asked: Search, k: int, reporter: Reporter = SILENT) -> SearchResult:
    """The ranking of ``asked`` by its metric alone."""
    return nearest_cases(
        library,
        asked.metric,
        asked.query,
        k=k,
        hide_same_patient=asked.hide_same_patient,
        fold_duplicates=asked.fold_duplicates,
        without=asked.without,
        diverse=asked.diverse,
        unusual=asked.unusual,
        reporter=reporter,
    )


def rank_refined(session: RefinementSession, search: Search, k: int) -> RankedSearch:
    """The ranking of ``search`` by what its judgements taught.

    Raises:
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    loaded, ledger = session.loaded, session.loaded.ledger(search.ledger)
    entries = ledger.in_force
    from_ = shift_query(session, search)
    index = session.index_for(from_.vector)
    index.form = session.form(entries, search.strength).opened(from_.open)
    as_it_was = embed_query(loaded, search.query)
    asked = session.rank_query(from_.vector, as_it_was)
    result = ranked_result(
        loaded,
        search.metric,
        search.query,
        asked,
        index,
        k=k,
        hide_same_patient=search.hide_same_patient,
        fold_duplicates=search.fold_duplicates,
        allowed=from_.allowed,
        diverse=search.diverse,
        nearest=session.nearest_under(index.form),
        unusual=search.unusual,
        changed=REFINED,
        features_seconds=0.0,
    )
    if search.unlike or any(amount for _, amount in search.concepts):
        # Pushed beyond the cases on purpose: how far cases usually lie from each other says nothing of it.
        result = replace(result, no_good_match=False, usual_distance=None)
    places = [loaded.place_of(line.row) for line in result.ranked]
    return RankedSearch(
        search,
        result,
        # Ranks made various cannot be compared with those by distance alone.
        () if search.diverse else session.shifts(as_it_was, [place for place in places if place is not None]),
        ledger.entries_without_shown,
        tuple(contradictions(entries, session.patient_of)),
        trust(len(entries)),
        left_out=from_.left_out,
    )
