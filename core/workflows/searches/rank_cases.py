"""Rank the cases of a library for a search by its metric, feedback and concepts.

In this order: the request, the loaded metric (:mod:`.open_metrics`), the query and its identity
(:mod:`.query_features`), the comparison with all cases, without its patient and with near-duplicates grouped
(:mod:`.query_comparison`), the order by marks (:mod:`.feedback.order_by_marks`), the estimate (:mod:`.estimate`), the
match (:mod:`.match_check`), the result (:mod:`.search_result`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.audit import SEARCH
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseDetails
from semblance.core.retrieval.index import NO_RANK, CaseRow, Matrix, Rank, Rows
from semblance.core.retrieval.place_comparison import CombinedComparison, PlaceComparison
from semblance.core.retrieval.ranking import EmbeddedQuery, Ranking
from semblance.core.searches.feedback.judgements import NO_MARKS, given_marks, refines
from semblance.core.searches.feedback.ledger import Contradiction, Ledger, LedgerEntry, contradictions
from semblance.core.searches.feedback.relevance_feedback import trust
from semblance.core.searches.query import Query, check_one_query
from semblance.core.searches.search import PLACE, WHOLE, Search
from semblance.core.searches.similar_cases import MatchedPlace, RankedCase
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.estimate import (
    BY_BOTH,
    BY_PLACE,
    BY_TEXT,
    FEWER,
    NO_MATCH,
    REFINED,
    SHIFTED,
    WHOLE_IMAGE_QUERY,
    estimate_from_neighbours,
    other_kind_of_query,
)
from semblance.core.workflows.searches.feedback.concepts import shift_query
from semblance.core.workflows.searches.feedback.order_by_marks import (
    MarkedComparison,
    check_given_marks,
    order_by_marks,
    usable_marks,
)
from semblance.core.workflows.searches.feedback.refinement_session import RefinementSession, refinement_of
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.match_check import check_match
from semblance.core.workflows.searches.open_metrics import open_search_metric
from semblance.core.workflows.searches.order_by_text import order_by_text, with_hits
from semblance.core.workflows.searches.place_search import (
    NO_PLACES,
    combined_comparison,
    metric_query,
    place_search,
    resolved_match,
)
from semblance.core.workflows.searches.query_comparison import (
    GroupedCases,
    MeasuredQuery,
    QueryComparison,
    grouped_cases,
    nearest_others,
    rank_candidates,
    shown_order,
)
from semblance.core.workflows.searches.query_features import embed_query, unknown_columns
from semblance.core.workflows.searches.search_result import ComparedCandidates, SearchResult


@dataclass(frozen=True)
class RankedSearch:
    """The ranking of a search, its ledger, and contradictions in the ledger.

    ``shifts``: by how many ranks each ranked case moved forward against the original metric, in the order of
    ``result.ranked``; empty if nothing changes the order. ``trust``: the weight of the judgements, 0 to 1, before the
    strength. ``refused``: why this metric cannot be refined, so that judgements and concepts were ignored.
    ``left_out``: sentences on marks and concepts that could not be used.
    """

    search: Search
    result: SearchResult
    shifts: tuple[int, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    trust: float = 0.0
    refused: BadInput | None = None
    left_out: tuple[str, ...] = ()


def present_judgements(
    library: LibraryLocation, ledger: str, *, reporter: Reporter = SILENT
) -> tuple[tuple[LedgerEntry, ...], float]:
    """The ``entries`` and the ``trust`` that a :class:`RankedSearch` with the ledger would have now, whoever judged."""
    with open_library(library) as opened:
        entries = Ledger(opened.judgements(ledger)).entries_without_visible
    return entries, _trust(entry for entry in entries if entry.undone is None)


def rank_cases(
    library: LibraryLocation, search: Search, *, k: int = 20, reporter: Reporter = SILENT
) -> RankedSearch:
    """The ``k`` cases nearest to the query of ``search``.

    The query itself is never ranked; by default, neither are other cases of its patient, and near-duplicates are
    grouped. The metric stays loaded between calls of one process.

    The marks on its query, in its ledger or given with it, re-order the ranking
    (:func:`semblance.core.retrieval.feedback_scores`); disliked cases come last. ``search.strength`` 0 gives the
    order without them. Comparisons refine the metric, and judgements on other queries where ``search.refined``.

    Raises:
        BadArguments: no such metric or group of features, or not exactly one of case and image given.
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    check_one_query(search.query)
    return rank_with(open_search_metric(library, search, reporter), search, k=k, reporter=reporter)


def rank_with(
    loaded: LoadedMetric, search: Search, *, k: int = 20, reporter: Reporter = SILENT
) -> RankedSearch:
    """:func:`rank_cases` by a metric that was just opened for ``search``."""
    entries = loaded.ledger(search.ledger).entries_without_visible if search.ledger else ()
    in_force = [entry for entry in entries if entry.undone is None]
    loaded.cases.look_up(case for entry in in_force for case in entry.judgement.cases())
    followed = in_force if search.strength > 0.0 else []
    refining_entries = [entry for entry in followed if refines(entry.judgement, search)]
    comparison = compare_query(loaded, search, refining_entries, reporter)
    given = given_marks(search) if search.strength > 0.0 else []
    marks, left_out = usable_marks(comparison.compared, [*given, *(entry.judgement for entry in followed)])
    begin = time.perf_counter()
    marked = order_by_marks(comparison.compared, marks, search.strength)
    result = _search_result(comparison, marked, k, begin)
    loaded.library.log_event(
        SEARCH,
        {
            # An image from outside is not named: its name may be that of a patient.
            "query": search.query.case or ("vector" if search.query.image is None else "image"),
            "metric": search.metric,
            "results": len(result.ranked),
            "marks": len(result.marks.liked) + len(result.marks.disliked),
        },
    )
    return RankedSearch(
        search,
        result,
        _shifts(comparison, search, result) if marked is not None or comparison.refined else (),
        entries,
        tuple(contradictions(in_force, loaded.patient_of_case)),
        _trust(in_force),
        comparison.refused,
        (*comparison.left_out, *left_out),
    )


def _trust(in_force: Iterable[LedgerEntry]) -> float:
    """Weight of the judgements, as in :func:`~semblance.core.searches.feedback.relevance_feedback.learn_form`: the same
    one of several people counts once."""
    return trust(len({entry.judgement.statement for entry in in_force}))


def nearest_cases(
    library: LibraryLocation,
    metric: str,
    query: Query,
    *,
    k: int = 20,
    reporter: Reporter = SILENT,
    **options: Any,
) -> SearchResult:
    """The ``k`` cases nearest to ``query`` under ``metric``; ``options`` are those of
    :class:`semblance.core.searches.search.Search`.

    Raises:
        BadArguments, BadInput: as :func:`rank_cases`, and a mark on the query or on no case with features.
    """
    return marked_search(library, Search(metric, query, **options), k=k, reporter=reporter).result


def marked_search(
    library: LibraryLocation, search: Search, *, k: int = 20, reporter: Reporter = SILENT
) -> RankedSearch:
    """:func:`rank_cases`, where every mark given with ``search`` can be used.

    Raises:
        BadArguments, BadInput: as :func:`rank_cases`, and a mark on the query or on no case with features.
    """
    if search.like or search.unlike:
        check_given_marks(open_search_metric(library, search, reporter), search)
    return rank_cases(library, search, k=k, reporter=reporter)


@dataclass(frozen=True, eq=False)
class UnmarkedComparison:
    """The comparison before the marks.

    ``plain_query``: the query under the metric alone, measured in ``seconds``. ``refined``: whether the metric is
    refined or the query moved. ``left_out`` and ``refused`` as in :class:`RankedSearch`.
    """

    compared: QueryComparison
    plain_query: EmbeddedQuery
    seconds: float
    refined: bool = False
    left_out: tuple[str, ...] = ()
    refused: BadInput | None = None


def compare_query(
    loaded: LoadedMetric, search: Search, refining_entries: Sequence[LedgerEntry], reporter: Reporter = SILENT
) -> UnmarkedComparison:
    """Compare the query of ``search`` with all cases, with its concepts and the metric refined by ``refining_entries``.

    ``loaded``: of :func:`~semblance.core.workflows.searches.open_metrics.open_search_metric`.

    Raises:
        BadArguments, BadInput: as :func:`rank_cases`.
    """
    match = resolved_match(loaded, search, refined=bool(refining_entries))
    if match != WHOLE:
        return _compare_by_place(loaded, search, match, reporter)
    if not refining_entries and not search.is_shifted:
        return _compare_by_metric(loaded, search)
    try:
        session = refinement_of(loaded, reporter)
    except BadInput as refused:
        return replace(_compare_by_metric(loaded, search), refused=refused)
    return _compare_by_refined_metric(session, search, refining_entries)


def _compare_by_metric(loaded: LoadedMetric, search: Search) -> UnmarkedComparison:
    begin = time.perf_counter()
    query = embed_query(loaded, search.query)
    seconds = time.perf_counter() - begin
    nearest = loaded.neighbourhoods.distances
    changed = FEWER if search.without else ""
    return UnmarkedComparison(
        QueryComparison(
            loaded,
            search,
            query,
            loaded.search_index(search.candidates),
            nearest,
            lambda one: embed_query(loaded, one).embedded,
            changed,
        ),
        query,
        seconds,
    )


def _compare_by_place(
    loaded: LoadedMetric, search: Search, match: str, reporter: Reporter
) -> UnmarkedComparison:
    """Compare by place alone or, for BOTH, with the metric as it is: judgements on other queries and concepts do not
    change how places are compared."""
    begin = time.perf_counter()
    query = embed_query(loaded, metric_query(loaded, search.query))
    found = place_search(loaded, search.query, reporter, search.candidates)
    seconds = time.perf_counter() - begin
    index = found.comparison if match == PLACE else combined_comparison(loaded, search, query, found)
    compared = QueryComparison(
        loaded,
        search,
        query,
        index,
        np.empty((0, 0)),
        lambda one: embed_query(loaded, metric_query(loaded, one)).embedded,
        BY_PLACE if match == PLACE else BY_BOTH,
        by_place=found,
    )
    left_out = (tr_lazy("Concepts are left out: they do not change a search by place."),)
    return UnmarkedComparison(compared, query, seconds, left_out=left_out if search.is_shifted else ())


def _compare_by_refined_metric(
    session: RefinementSession, search: Search, refining_entries: Sequence[LedgerEntry]
) -> UnmarkedComparison:
    """Compare with concepts, under the metric refined by comparisons and by judgements on other queries."""
    loaded = session.loaded
    shifted = shift_query(session, search)
    index = session.index_for(shifted.vector)
    index.form = session.form(refining_entries, search.strength).opened(shifted.plain_weight)
    plain_query = embed_query(loaded, search.query)
    query = replace(plain_query, embedded=shifted.vector)
    nearest = session.nearest_under(index.form)
    compared = QueryComparison(
        loaded, search, query, index, nearest, session.query_vector, SHIFTED if search.is_shifted else REFINED
    )
    return UnmarkedComparison(compared, plain_query, 0.0, refined=True, left_out=shifted.left_out)


def _shifts(comparison: UnmarkedComparison, search: Search, result: SearchResult) -> tuple[int, ...]:
    if search.diverse or search.text:
        # Their ranks cannot be compared with those by distance.
        return ()
    loaded, index = comparison.compared.loaded, comparison.compared.index
    places = [loaded.position_of(line.row) for line in result.ranked]
    if isinstance(index, PlaceComparison | CombinedComparison):
        plain = replace(comparison.plain_query, tie_break=None)
        measured = MeasuredQuery(loaded, plain, index.all_distances())
    else:
        measured = MeasuredQuery.of(loaded, comparison.plain_query)
    return measured.shifts(search, [at for at in places if at is not None])


def _search_result(
    comparison: UnmarkedComparison, marked: MarkedComparison | None, k: int, begin: float
) -> SearchResult:
    """Rank, hide, group and estimate, and build the result."""
    plain = comparison.compared
    compared, text = plain if marked is None else marked.compared, None
    if plain.search.text:
        compared, text = order_by_text(compared, plain.search.text)
    loaded, search = compared.loaded, compared.search
    found = rank_candidates(compared, max(k, VOTERS))
    if marked is None and text is None and compared.by_metric_alone:
        # A mark needs it again.
        MeasuredQuery.of(loaded, compared.query).keep(compared, found)
    # Marks may follow the findings on screen, so counts and estimate ignore them.
    scored = _as_scored(plain)
    by_image = marked is None and text is None and scored is plain
    voting = found if by_image else _ranking_without_marks(scored)
    voters = voting.rows[:VOTERS].tolist()
    changed = scored.changed if scored is not plain else compared.changed
    vote = estimate_from_neighbours(loaded, search, compared.query, voters, changed=changed)
    order = shown_order(compared, found, k)
    shown = found.rows[order]
    others, other_distances = nearest_others(compared, found, next(iter(vote.counts), None))
    details = loaded.details(loaded.rows[np.union1d(shown, others)].tolist())
    near = None if marked is None else marked.nearest_marks(shown)
    ranked = _ranked_cases(
        compared, details, shown, found.distances[order], grouped_cases(compared, found), near
    )
    rank_of = {case.row: case.rank for case in ranked}
    beside = _ranked_cases(compared, details, others, other_distances, {})
    match = check_match(scored, comparison.plain_query, voting)
    is_far = match is not None and match.is_far
    if is_far and vote.calibrated:
        vote = vote.without_estimate(NO_MATCH)
    if text is not None:
        text = with_hits(text, compared, [case.row for case in ranked])
        if vote.calibrated:
            vote = vote.without_estimate(BY_TEXT)
    return SearchResult(
        search.query,
        search.metric,
        ranked,
        _n_compared(compared),
        found.hidden_same_patient,
        found.hidden_near_duplicates,
        vote.counts,
        is_far,
        match,
        {"features": comparison.seconds, "search": time.perf_counter() - begin},
        vote,
        tuple(replace(case, rank=rank_of.get(case.row, NO_RANK)) for case in beside),
        _warnings(compared),
        len(loaded.cases) - len(loaded.sealed),
        NO_MARKS if marked is None else marked.marks,
        loaded.without_patient,
        len(loaded.sealed),
        compared_candidates(compared),
        compared.by,
        text,
    )


def compared_candidates(compared: QueryComparison) -> ComparedCandidates | None:
    """How many candidates were compared; ``None`` where all cases were."""
    index, measured = compared.candidates, compared.loaded.recall
    if compared.by_place is not None:
        stored = compared.by_place.stored
        known = index == stored.index.candidates
        return (
            None
            if index is None
            else ComparedCandidates(index, stored.recall if known else None, stored.queries if known else 0)
        )
    if index is None or measured is None:
        return None
    known = index == measured.candidates
    return ComparedCandidates(index, measured.recall if known else None, measured.queries if known else 0)


def _as_scored(plain: QueryComparison) -> QueryComparison:
    """The comparison by the metric alone where places joined its distance unasked: it was scored, and its estimate
    calibrated, without them. Else ``plain``."""
    if plain.by_place is None or plain.search.match or plain.search.query.region is not None:
        return plain
    loaded = plain.loaded
    return replace(
        plain,
        index=loaded.search_index(plain.search.candidates),
        neighbour_distances=loaded.neighbourhoods.distances,
        changed="",
        by_place=None,
    )


def _ranking_without_marks(plain: QueryComparison) -> Ranking:
    """The cases that vote; cached if the metric alone compares."""
    if not plain.by_metric_alone:
        return rank_candidates(plain, VOTERS)
    return MeasuredQuery.of(plain.loaded, plain.query).ranking(plain, VOTERS)


def _n_compared(compared: QueryComparison) -> int:
    """The number of cases that are compared, without the query."""
    own = compared.query.position
    if compared.by_place is None:
        return len(compared.loaded.rows) - (own is not None)
    there = compared.by_place.comparison.with_places
    return int(there.sum()) - (own is not None and bool(there[own]))


def _ranked_cases(
    compared: QueryComparison,
    details: Mapping[int, CaseDetails],
    places: Rows,
    distances: Matrix,
    near_duplicates: Mapping[int, GroupedCases],
    near_marks: Sequence[tuple[str | None, str | None, bool]] | None = None,
) -> tuple[RankedCase, ...]:
    lines, loaded = [], compared.loaded
    marks = near_marks or [(None, None, False)] * len(places)
    there = np.array([row in details for row in loaded.rows[places].tolist()], dtype=np.bool_)
    found: dict[int, MatchedPlace | None] = {}
    if compared.by_place is not None:
        known = [details[row] for row in loaded.rows[places[there]].tolist()]
        matched = compared.by_place.matched_places(known, places[there])
        found = dict(zip(places[there].tolist(), matched, strict=True))
    cases = zip(places.tolist(), loaded.rows[places].tolist(), distances.tolist(), marks, strict=True)
    for rank, (place, row, distance, near) in enumerate(cases, start=1):
        case = details.get(row)
        if case is not None:
            path = "" if case.address is None else str(case.address)
            copies = near_duplicates.get(place, (0, (), (), ()))
            lines.append(
                RankedCase(
                    Rank(rank),
                    CaseRow(row),
                    case.case_id,
                    distance,
                    case.finding,
                    case.patient,
                    path,
                    *copies,
                    *near,
                    place=found.get(place),
                )
            )
    return tuple(lines)


def _warnings(compared: QueryComparison) -> tuple[str, ...]:
    """Warnings on the query that make its ranking doubtful."""
    loaded, query = compared.loaded, compared.search.query
    warnings = []
    if compared.by_place is not None:
        lacking = int(np.count_nonzero(~compared.by_place.comparison.with_places))
        if lacking and query.slices:
            warnings.append(
                tr_lazy_n(
                    "{n} case has no described slices and is not compared with the volume.",
                    "{n} cases have no described slices and are not compared with the volume.",
                    lacking,
                )
            )
        elif lacking:
            warnings.append(
                tr_lazy_n(
                    "{n} case has no places and is not compared. Research > Metric > Measure places measures them.",
                    "{n} cases have no places and are not compared. Research > Metric > Measure places measures them.",
                    lacking,
                )
            )
    elif query.region is not None and not compared.search.match and not loaded.with_regions:
        warnings.append(NO_PLACES)
    elif other_kind_of_query(loaded, query) == WHOLE_IMAGE_QUERY:
        warnings.append(
            tr_lazy(
                "The cases of this library are regions of images, and the query is a whole image. "
                "Draw the region to compare."
            )
        )
    unknown = [] if query.case is not None or query.vector is not None else unknown_columns(loaded, query)
    if unknown:
        warnings.append(
            tr_lazy(
                "Not known for this image: {columns}. It is compared as if it had the median of the training cases.",
                columns=", ".join(unknown),
            )
        )
    return tuple(warnings)
