"""Refine a metric by judgements. Every call takes the whole search; large data stays in the process.

The ledger is in the library, so any process can continue the search. Each judgement is written as one row, and the
library is not read again for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import checked_name
from semblance.core.metrics.declarations import CLICKS
from semblance.core.metrics.relevance_feedback.feedback_space import no_coordinates_error
from semblance.core.metrics.relevance_feedback.refined_metric import refined_metric
from semblance.core.metrics.storage import save_metric
from semblance.core.retrieval.feedback import MarkedIndex
from semblance.core.searches.feedback.influence import Influence, influence_of, influences, ranks_of
from semblance.core.searches.feedback.judgements import (
    Judgement,
    counts_in,
    given_marks,
    is_mark,
    outside_image,
    refines,
)
from semblance.core.searches.feedback.ledger import Ledger, LedgerEntry
from semblance.core.searches.query import Query, check_one_query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import ELSEWHERE, contents_elsewhere
from semblance.core.workflows.searches.feedback.concepts import shift_query
from semblance.core.workflows.searches.feedback.order_by_marks import (
    distances_of,
    order_by_marks,
    usable_marks,
)
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore, open_search_refinement
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import open_metric, open_search_metric, without_reload
from semblance.core.workflows.searches.query_comparison import QueryComparison
from semblance.core.workflows.searches.query_features import embed_query
from semblance.core.workflows.searches.rank_cases import RankedSearch, compare_query, rank_cases, rank_with

#: Number of first ranks among which influence is measured.
NEAREST = 500
#: Held-out cases on which the live score is measured at most.
SCORED = 400


def add_judgements(
    library: LibraryLocation,
    search: Search,
    judgements: Sequence[Judgement],
    *,
    k: int = 20,
    author: str = "",
    replaced: Sequence[int] = (),
    reporter: Reporter = SILENT,
) -> RankedSearch:
    """Save judgements that were made together, and rank again.

    A likeness judgement on the query of ``search`` is a mark, which re-orders this search at once
    (:func:`semblance.core.workflows.searches.rank_cases.rank_cases`) under any metric. All judgements refine the
    metric for other queries. ``replaced``: ids of earlier judgements that these replace, which are undone.

    Raises:
        BadArguments: no such earlier judgement.
        BadInput: a case that the library does not have, an image that cannot be read, or, for comparisons, a metric
            that cannot be refined.
    """
    check_one_query(search.query)
    if all(is_mark(judgement, search.query) for judgement in judgements):
        loaded = open_search_metric(library, search, reporter)
    else:
        loaded = open_search_refinement(library, search, reporter).loaded
    for judgement in judgements:
        for case in (judgement.case, judgement.other):
            if case is not None:
                _check_readable(loaded, case)
    # The same time stamp records that they were made together.
    moment = datetime.now(UTC).isoformat(timespec="microseconds")
    author = loaded.library.catalogue.author(author)
    made = [replace(one, author=one.author or author, time=one.time or moment) for one in judgements]
    with without_reload(library) as unchanged:
        loaded.ledger(search.ledger).replace(replaced, made)
    if loaded.library in unchanged:
        return rank_with(loaded, search, k=k, reporter=reporter)
    return rank_cases(library, search, k=k, reporter=reporter)


def _check_readable(loaded: LoadedMetric, case: str) -> None:
    """Raises BadInput unless ``case`` is a case of the library or an image that can be read."""
    try:
        loaded.cases.row_of(case)
    except BadInput:
        if (image := outside_image(case)) is None:
            raise
        embed_query(loaded, Query(image=image))


def undo_judgements(
    library: LibraryLocation,
    search: Search,
    ids: Sequence[int] = (),
    *,
    k: int = 20,
    reporter: Reporter = SILENT,
) -> RankedSearch:
    """Undo these judgements; without ids, the newest that counts in the search and those made together with it.

    Raises:
        BadArguments: no such judgement.
    """
    with _written(library, search, reporter) as ledger:
        ledger.undo(ids) if ids else ledger.undo_last(lambda one: counts_in(one, search))
    return rank_cases(library, search, k=k, reporter=reporter)


def redo_judgements(
    library: LibraryLocation,
    search: Search,
    ids: Sequence[int] = (),
    *,
    k: int = 20,
    reporter: Reporter = SILENT,
) -> RankedSearch:
    """Redo these judgements; without ids, those undone last of which one would count in the search.

    Raises:
        BadArguments: no such judgement.
    """
    with _written(library, search, reporter) as ledger:
        ledger.redo(ids) if ids else ledger.redo_last(lambda one: counts_in(one, search))
    return rank_cases(library, search, k=k, reporter=reporter)


def undo_all_judgements(
    library: LibraryLocation, search: Search, *, k: int = 20, reporter: Reporter = SILENT
) -> RankedSearch:
    """Undo all judgements; each can be redone."""
    with _written(library, search, reporter) as ledger:
        ledger.undo([entry.id for entry in ledger.in_force])
    return rank_cases(library, search, k=k, reporter=reporter)


def clear_marks(
    library: LibraryLocation, search: Search, *, k: int = 20, reporter: Reporter = SILENT
) -> RankedSearch:
    """Undo all marks of this search's query; each can be redone.

    Judgements on other queries and comparisons stay.
    """
    with _written(library, search, reporter) as ledger:
        ledger.undo([entry.id for entry in ledger.in_force if is_mark(entry.judgement, search.query)])
    return rank_cases(library, search, k=k, reporter=reporter)


@contextlib.contextmanager
def _written(library: LibraryLocation, search: Search, reporter: Reporter) -> Iterator[Ledger]:
    """A context with the ledger of the search; writes to it do not make loaded metrics be read again."""
    ledger = open_metric(library, search.metric, reporter).ledger(search.ledger)
    with without_reload(library):
        yield ledger


def refusal(library: LibraryLocation, metric: str, *, reporter: Reporter = SILENT) -> BadInput | None:
    """Why judgements cannot refine ``metric``; ``None`` if they can.

    Raises:
        BadArguments: no such metric.
        BadInput: not a library, or no case has the metric's features.
    """
    embeds = open_metric(library, metric, reporter).metric.distance.embeds
    return None if embeds else no_coordinates_error()


def influence(
    library: LibraryLocation, search: Search, *, k: int = 20, reporter: Reporter = SILENT
) -> list[Influence]:
    """The effect of each judgement in force on the ranks on screen; the metric is refined once for each of them.

    ``most_moved`` is the catalogue row of the case.
    """
    entries = open_metric(library, search.metric, reporter).ledger(search.ledger).in_force
    marking = [entry for entry in entries if is_mark(entry.judgement, search.query)]
    refining_entries = [entry for entry in entries if refines(entry.judgement, search)]
    found = _influence_of_marks(library, search, marking, refining_entries, k, reporter) if marking else []
    if refining_entries:
        found += _influence_of_refining_entries(library, search, refining_entries, k, reporter)
    order = {entry.id: place for place, entry in enumerate(entries)}
    return sorted(found, key=lambda one: order[one.entry])


def _influence_of_marks(
    library: LibraryLocation,
    search: Search,
    marking: Sequence[LedgerEntry],
    refining_entries: Sequence[LedgerEntry],
    k: int,
    reporter: Reporter,
) -> list[Influence]:
    """The influence of each mark, by leaving it out of the order by marks."""
    loaded = open_search_metric(library, search, reporter)
    compared = compare_query(loaded, search, refining_entries, reporter).compared
    ordered = [_ordered(compared, search, marking)]
    for place in range(len(marking)):
        reporter.check_cancelled()
        reporter.progress(place, len(marking), "Influence of each mark")
        ordered.append(_ordered(compared, search, [*marking[:place], *marking[place + 1 :]]))
    near = ordered[0].search(compared.query.embedded, NEAREST).rows
    ranks = [ranks_of(-index.scores[near]) for index in ordered]
    rows = compared.loaded.rows[near]
    found = [
        influence_of(entry.id, ranks[0], without, k)
        for entry, without in zip(marking, ranks[1:], strict=True)
    ]
    return [replace(one, most_moved=int(rows[one.most_moved])) for one in found]


def _ordered(compared: QueryComparison, search: Search, marking: Sequence[LedgerEntry]) -> MarkedIndex:
    marks, _ = usable_marks(compared, [*given_marks(search), *(entry.judgement for entry in marking)])
    marked = order_by_marks(compared, marks, search.strength)
    if marked is not None:
        return marked.marked_index
    distances = distances_of(compared)
    return MarkedIndex(distances, -distances, compared.tie_distances)


def _influence_of_refining_entries(
    library: LibraryLocation,
    search: Search,
    refining_entries: Sequence[LedgerEntry],
    k: int,
    reporter: Reporter,
) -> list[Influence]:
    """The influence of each comparison and judgement on another query, by leaving it out of the refined metric."""
    session = open_search_refinement(library, search, reporter)
    shifted = shift_query(session, search)
    index = session.index_for(shifted.vector)
    index.form = session.form(refining_entries, search.strength).opened(shifted.plain_weight)
    vector = index.query
    near = index.search(vector, NEAREST).rows
    found = influences(
        refining_entries,
        session.vector_of(refining_entries),
        session.coordinates[near],
        vector,
        k=k,
        strength=search.strength,
        initial_weights=session.space.initial_weights,
        reporter=reporter,
    )
    rows = session.loaded.rows[near]
    return [replace(one, most_moved=int(rows[one.most_moved])) for one in found]


def held_out_score(
    library: LibraryLocation, search: Search, *, reporter: Reporter = SILENT
) -> HeldOutScore | None:
    """Retrieval accuracy@10 on cases that are neither training cases nor judged, with its interval and that of the
    original metric; ``None`` if nothing was held out. Cases of trained or judged patients are left out."""
    session = open_search_refinement(library, search, reporter)
    entries = session.loaded.ledger(search.ledger).in_force
    return session.held_out_score(entries, search.strength, SCORED, reporter)


def save_refined(
    library: LibraryLocation,
    search: Search,
    name: str,
    *,
    authors: Sequence[str] | None = None,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Save the refined metric as ``name``; returns its card as JSON. It has no scores until it is scored.

    ``authors``: the authors on its card, by default those of the judgements.

    Judged cases count as training cases, so
    :func:`semblance.core.workflows.metrics.score_metric.score_metric` leaves them out.

    Raises:
        BadInput: no judgement is in force, or the name is that of the original metric.
    """
    session = open_search_refinement(library, search, reporter)
    entries = session.loaded.ledger(search.ledger).in_force
    if not entries:
        raise BadInput("No mark is in force: there is nothing to save.", "Mark some cases first.")
    name = checked_name(name, tr_lazy("A metric"))
    if name == search.metric:
        raise BadInput(
            tr_lazy("The metric '{name}' is what this one came from.", name=name), "Choose another name."
        )
    if authors is None:
        authors = sorted({entry.judgement.author for entry in entries if entry.judgement.author})
    metric = refined_metric(
        session.loaded.metric,
        session.space,
        session.form(entries, search.strength),
        name=name,
        judgements=len(entries),
        triplets=session.n_triplets(entries),
        authors=authors,
        strength=search.strength,
    )
    opened, record = session.loaded.library, session.loaded.record
    file = opened.new_metric_file()
    save_metric(metric, file)
    findings_map = record.card.get("findings_map") or ""
    card: dict[str, Any] = {**metric.card.to_json(), "findings_map": findings_map}
    if elsewhere := contents_elsewhere(record.card):
        card[ELSEWHERE] = list(elsewhere)
    training = np.union1d(record.training, session.judged_rows(entries))
    opened.add_metric(name, CLICKS, record.feature_set, file, card, training, None)
    return card
