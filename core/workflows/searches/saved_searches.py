"""Save searches and reopen them as they were shown, with notes on missing or different parts."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.retrieval.index import CaseRow, Rank
from semblance.core.searches.feedback.judgements import given_marks, marks_of, outside_image
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.library_snapshot import load_state
from semblance.core.workflows.searches.open_metrics import without_reload
from semblance.core.workflows.searches.outcomes import ESTIMATE, OUTCOME, kept_estimate
from semblance.core.workflows.searches.rank_cases import RankedSearch, rank_cases
from semblance.core.workflows.searches.search_result import SearchResult

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.stored_searches import StoredSearch

#: Ranks that are compared to say that the ranking would differ, and ranks that are stored.
COMPARED_RANKS, STORED_RANKS = 20, 200
_THUMBNAIL = 96


@dataclass(frozen=True)
class SavedSearch:
    """A line of the list: ``case_row`` of the query (-1: removed or from outside), ``thumbnail`` (PNG or JPEG) of one
    from outside; ``query``: its id or file name; ``judged``: the number of judgements in force."""

    name: str
    query: str
    metric: str
    case_row: int
    thumbnail: bytes
    judged: int
    saved: str
    #: The later diagnosis of the query; "" if none was entered.
    outcome: str = ""


@dataclass(frozen=True)
class ReopenedSearch:
    """A saved search as far as it can be shown. ``ranked_search``: the ranking when it was saved, if it was stored;
    ``notes``: texts on what is missing, and on how the ranking would differ now; ``is_current``: whether the ranking
    is the same now; ``is_complete``: whether its metric and query still exist."""

    name: str
    search: Search
    view: Mapping[str, Any]
    ranked_search: RankedSearch | None
    notes: tuple[str, ...] = ()
    is_current: bool = True
    is_complete: bool = True


def search_record(
    search: Search, ranked_search: RankedSearch | None, view: Mapping[str, Any], name: str = ""
) -> dict[str, Any]:
    """The record of a search to store: everything that determines its ranking, the shown cases, and the view."""
    out: dict[str, Any] = {**search.to_json(), "name": name, "view": dict(view)}
    if (
        ranked_search is not None
        and ranked_search.search.query == search.query
        and ranked_search.search.metric == search.metric
    ):
        result = ranked_search.result
        if search.query.region is not None:
            # What a region is compared by without a choice changes when the library gets places.
            out["match"] = result.compared_by
        out["seen"] = {
            "ranked": [
                [case.case_id, case.distance, case.near_duplicates] for case in result.ranked[:STORED_RANKS]
            ],
            "compared": result.compared,
            "same_patient": result.same_patient,
            "near_duplicates": result.near_duplicates,
            "no_good_match": result.no_close_match,
        }
        vote = result.vote
        if vote.probability is not None and vote.interval is not None and not result.no_close_match:
            out[ESTIMATE] = {
                "metric": result.metric,
                "finding": vote.finding,
                "probability": vote.probability,
                "interval": list(vote.interval),
                "measured_on": vote.measured_on,
                "prevalence": None if vote.prevalence is None else list(vote.prevalence),
            }
    return out


class SearchConflict(SemblanceError):
    """A saved search was changed by another person after this one saw it. Nothing was written."""

    #: What the search is now, as :meth:`semblance.core.searches.search.Search.to_json` wrote it, and when it was saved.
    theirs: Mapping[str, Any] = {}
    saved: str = ""


def save_current(
    library: LibraryLocation,
    state: Mapping[str, Any],
    *,
    seen: Sequence[Mapping[str, Any]] = (),
    reporter: Reporter = SILENT,
) -> None:
    """Save the current search for the next start, and under its name if it has one. ``seen``: the states of the named
    search, of :meth:`semblance.core.searches.search.Search.to_json`, that the person saw or has sent; () for any.

    In a read-only library nothing is saved.

    Raises:
        SearchConflict: the named search is another one by now, and ``state`` is not what was seen either.
    """
    from semblance.core.library.stored_searches import update_search

    def renewed(stored: StoredSearch) -> Mapping[str, Any]:
        mine = Search.from_json(state).to_json()
        theirs = _content(stored.state)
        known = [_content(one) for one in seen]
        if seen and theirs is not None and theirs != mine and theirs not in known:
            if mine == known[0]:
                # Only the view changed, which is no one's work.
                return stored.state
            error = SearchConflict(
                tr_lazy("Another person changed the search '{name}' after you saw it.", name=stored.name)
            )
            error.theirs, error.saved = theirs, stored.saved
            raise error
        shown = {key: value for key, value in state.items() if key != ESTIMATE}
        thumbnail = stored.state.get("thumbnail", "")
        return {**shown, "thumbnail": thumbnail, **kept_estimate(stored.state, state)}

    with open_library(library) as opened:
        if not opened.writable:
            return
        with without_reload(library):
            before = opened.load_last_search()
            if before is None or dict(before) != dict(state):
                opened.save_last_search(state)
            if state.get("name"):
                update_search(opened.catalogue, str(state["name"]), renewed)


def _content(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is in a stored search without its view; ``None`` where it cannot be read."""
    try:
        return Search.from_json(state).to_json()
    except ValueError:
        return None


def save(
    library: LibraryLocation, name: str, state: Mapping[str, Any], *, reporter: Reporter = SILENT
) -> str:
    """Save ``state`` (from :func:`search_record`) as the new search ``name``.

    Raises:
        BadArguments: a name it cannot have.
    """
    from semblance.core.library.stored_searches import add_search

    name = name.strip()
    with open_library(library) as opened, without_reload(library):
        hashes = {one.name: str(one.card.get("content_hash") or "") for one in opened.metrics()}
        content_hash = hashes.get(str(state.get("metric")), "")
        kept = kept_estimate(None, state, opened.catalogue.now(), content_hash)
        add_search(opened.catalogue, name, {**state, "name": name, "thumbnail": _thumbnail(state), **kept})
    return name


def save_result(
    library: LibraryLocation,
    name: str,
    result: SearchResult,
    without: Sequence[str] = (),
    *,
    reporter: Reporter = SILENT,
) -> str:
    """Save a ranked search as the new search ``name``, with its estimate; ``without``: excluded groups.

    Raises:
        BadArguments: a name it cannot have.
    """
    search = Search(
        result.metric, result.query, new_ledger(), without=tuple(without), match=result.compared_by
    )
    return save(library, name, search_record(search, RankedSearch(search, result), {}, name))


def branch(
    library: LibraryLocation, name: str, state: Mapping[str, Any], *, reporter: Reporter = SILENT
) -> Search:
    """Save ``state`` as the new search ``name`` with a copy of its judgements; returns the new search.

    Raises:
        BadArguments: a name it cannot have.
    """
    from semblance.core.library.stored_searches import copy_judgements

    ledger = new_ledger()
    save(library, name, {**state, "ledger": ledger})
    with open_library(library) as opened, without_reload(library):
        copy_judgements(opened.catalogue, str(state.get("ledger", "")), ledger)
    return Search.from_json({**state, "ledger": ledger})


def split_ledger(library: LibraryLocation, old: str, new: str, *, reporter: Reporter = SILENT) -> None:
    """Copy the judgements of the ledger ``old`` into ``new``, so that continuing with another query does not change a
    named search."""
    from semblance.core.library.stored_searches import copy_judgements

    with open_library(library) as opened:
        if opened.writable:
            with without_reload(library):
                copy_judgements(opened.catalogue, old, new)


def saved_searches(library: LibraryLocation, *, reporter: Reporter = SILENT) -> list[SavedSearch]:
    """The named searches, the newest first; an unreadable one is listed by its name alone."""
    from semblance.core.library.stored_searches import stored_searches

    with open_library(library) as opened:
        rows = {case.case_id: int(case.id) for case in opened.catalogue.all_cases()}
        out = []
        for stored in stored_searches(opened.catalogue):
            try:
                search = Search.from_json(stored.state)
                image = base64.b64decode(str(stored.state.get("thumbnail", "")))
            except (KeyError, TypeError, ValueError, AttributeError):
                out.append(SavedSearch(stored.name, tr_lazy("cannot be read"), "", -1, b"", 0, stored.saved))
                continue
            judged = sum(undone is None for _, _, undone in opened.judgements(search.ledger).read())
            row = rows.get(search.query.case or "", -1)
            out.append(
                SavedSearch(
                    stored.name,
                    _query_name(search.query),
                    search.metric,
                    row,
                    image,
                    judged,
                    stored.saved,
                    str((stored.state.get(OUTCOME) or {}).get("finding") or ""),
                )
            )
    return out


def rename(library: LibraryLocation, old: str, new: str, *, reporter: Reporter = SILENT) -> str:
    """Raises BadArguments: no such search, or a name it cannot have."""
    from semblance.core.library.stored_searches import rename_search

    new = new.strip()
    with open_library(library) as opened, without_reload(library):
        rename_search(opened.catalogue, old, new)
    return new


def delete(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> str:
    """Delete a search; returns the token for :func:`restore`.

    Raises:
        BadArguments: no such search.
    """
    from semblance.core.library.stored_searches import delete_search

    with open_library(library) as opened, without_reload(library):
        return delete_search(opened.catalogue, name)


def deleted_searches(library: LibraryLocation, *, reporter: Reporter = SILENT) -> list[tuple[str, str, str]]:
    """Name, time (ISO 8601, UTC) and token for :func:`restore` of the deleted searches, the last deleted first."""
    from semblance.core.library.stored_searches import deleted_searches

    with open_library(library) as opened:
        return deleted_searches(opened.catalogue)


def restore(library: LibraryLocation, token: str, *, reporter: Reporter = SILENT) -> str:
    """Restore a deleted search; returns its name.

    Raises:
        BadArguments: it was deleted permanently.
    """
    from semblance.core.library.stored_searches import restore_search

    with open_library(library) as opened, without_reload(library):
        return restore_search(opened.catalogue, token)


def reopen(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> ReopenedSearch:
    """Reopen the search ``name`` as far as its image, cases and metric still exist.

    Raises:
        BadArguments: no such search.
        BadInput: it cannot be read.
    """
    notes: list[str] = []
    with open_library(library) as opened:
        state = opened.load_search(name)
        if state is None:
            raise BadArguments(
                tr_lazy("There is no search '{name}' any more.", name=name),
                "Another window may have deleted it.",
            )
        try:
            search, view = Search.from_json(state), dict(state.get("view") or {})
            stored = [
                (str(case), float(distance), int(near_duplicates))
                for case, distance, near_duplicates in _stored_ranking(state)
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadInput(
                tr_lazy("The search '{name}' cannot be read.", name=name), "Delete it and search again."
            ) from None
        lines, lost = _stored_cases(opened, stored)
        search = _with_marks_in_ledger(library, opened, search, state)
        kept_metric = search.metric
        search = _with_existing_parts(opened, search, notes)
        _note_lost_judgements(opened, search, notes)
    ranked_search: RankedSearch | None = None
    if search.metric and search.query != Query() and _has_image(search.query):
        try:
            ranked_search = rank_cases(library, search, k=STORED_RANKS, reporter=reporter)
        except SemblanceError as problem:
            notes.append(problem.message)
    is_complete = search.metric == kept_metric and search.query != Query()
    if not is_complete or not lines:
        return ReopenedSearch(name, search, view, ranked_search, tuple(notes), is_complete=is_complete)
    if lost:
        notes.append(
            tr_lazy_n("{n} ranked case no longer exists.", "{n} ranked cases no longer exist.", lost)
        )
    if ranked_search is None:
        return ReopenedSearch(
            name, search, view, _search_as_stored(search, lines, state, notes), tuple(notes), is_current=False
        )
    differs = _ranking_difference(lines, ranked_search.result.ranked)
    if differs or lost:
        notes.append(differs or tr_lazy("Searched now, the remaining cases would be in the same order."))
        then = replace(
            ranked_search, result=_with_stored_ranking(ranked_search.result, lines, state), shifts=()
        )
        return ReopenedSearch(name, search, view, then, tuple(notes), is_current=False)
    return ReopenedSearch(name, search, view, ranked_search, tuple(notes))


def last_search(library: LibraryLocation, *, reporter: Reporter = SILENT) -> ReopenedSearch | None:
    """The search that the window showed last, as far as it still exists; ``None`` if it cannot be read.

    It is not ranked again. ``ranked_search`` is the stored ranking if the image of the query is missing; where there is
    none, the search has no query.
    """
    state = load_state(library)
    if state is None:
        return None
    notes: list[str] = []
    try:
        search, view = Search.from_json(state), dict(state.get("view") or {})
        name, stored = (
            str(state.get("name") or ""),
            [(str(c), float(d), int(n)) for c, d, n in _stored_ranking(state)],
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        # Damaged, or of another version of the program: the library opens as if it were new.
        return None
    with open_library(library) as opened:
        search = _with_marks_in_ledger(library, opened, search, state)
        there = _with_existing_parts(opened, search, notes)
        lines = () if _has_image(there.query) else _stored_cases(opened, stored)[0]
    is_complete = there.metric == search.metric and there.query == search.query
    ranked_search = _search_as_stored(there, lines, state, notes) if is_complete and lines else None
    if ranked_search is None and not _has_image(there.query):
        there, is_complete = replace(there, query=Query()), False
    return ReopenedSearch(
        name,
        there,
        view,
        ranked_search,
        tuple(notes),
        is_current=ranked_search is None,
        is_complete=is_complete,
    )


def _with_marks_in_ledger(
    location: LibraryLocation, library: Library, search: Search, state: Mapping[str, Any]
) -> Search:
    """``search`` with its given marks in its ledger: the version before this one kept them in the search, as examples.

    In a library that cannot be written to they stay where they are. A mark of the ledger on the same case counts.
    """
    from semblance.core.library.stored_searches import update_search

    if not (search.like or search.unlike) or not search.ledger or not library.writable:
        return search
    ledger = Ledger(library.judgements(search.ledger))
    marked = marks_of((entry.judgement for entry in ledger.in_force), search.query)
    author, moment = library.catalogue.author(""), datetime.now(UTC).isoformat(timespec="microseconds")
    kept = replace(search, like=(), unlike=())
    with without_reload(location):
        ledger.add(
            replace(one, author=author, time=moment)
            for one in given_marks(search)
            if one.case not in (*marked.liked, *marked.disliked)
        )
        stored = {**state, "like": [], "unlike": []}
        if library.load_last_search() == state:
            library.save_last_search(stored)
        if name := str(state.get("name") or ""):
            update_search(library.catalogue, name, lambda one: {**one.state, "like": [], "unlike": []})
    return kept


def _has_image(query: Query) -> bool:
    """Whether the image of a query from outside exists; always true for a case of the library."""
    return query.image is None or query.image.exists()


def _search_as_stored(
    search: Search, lines: tuple[RankedCase, ...], state: Mapping[str, Any], notes: list[str]
) -> RankedSearch:
    """The stored ranking of a search that cannot be ranked now."""
    notes.append(tr_lazy("The ranking is the saved one."))
    nothing = SearchResult(search.query, search.metric, (), 0, 0, 0, {}, False, None)
    return RankedSearch(search, _with_stored_ranking(nothing, lines, state))


def _stored_ranking(state: Mapping[str, Any]) -> Sequence[Any]:
    ranked: Sequence[Any] = (state.get("seen") or {}).get("ranked") or ()
    return ranked


def _with_existing_parts(library: Library, search: Search, notes: list[str]) -> Search:
    """``search`` with an existing metric and query; what is missing is added to ``notes``."""
    metrics = [metric.name for metric in library.metrics()]
    if search.metric not in metrics:
        other = metrics[-1] if metrics else ""
        instead = tr_lazy("'{other}' ranks instead.", other=other) if other else tr_lazy("Train one to rank.")
        # A library without a metric is searched by none.
        if search.metric:
            notes.append(
                tr_lazy(
                    "The metric '{metric}' no longer exists. {instead}", metric=search.metric, instead=instead
                )
            )
        search = replace(search, metric=other, without=())
    query = search.query
    if query.case is not None:
        try:
            library.catalogue.row_of(query.case)
        except BadInput:
            notes.append(tr_lazy("The case {case}, its query, no longer exists.", case=query.case))
            search = replace(search, query=Query())
    elif not _has_image(query):
        notes.append(tr_lazy("The image {image} is not there any more.", image=query.image))
    return search


def _note_lost_judgements(library: Library, search: Search, notes: list[str]) -> None:
    there = {case.case_id for case in library.catalogue.all_cases()}
    lost = sum(
        # A mark on an image from outside that cannot be read is reported with the ranking.
        (one.case not in there and outside_image(one.case) is None)
        or (one.other is not None and one.other not in there)
        for _, one, undone in library.judgements(search.ledger).read()
        if undone is None
    )
    if lost:
        notes.append(
            tr_lazy_n(
                "{n} mark refers to cases that no longer exist.",
                "{n} marks refer to cases that no longer exist.",
                lost,
            )
        )


def _stored_cases(
    library: Library, stored: Sequence[tuple[str, float, int]]
) -> tuple[tuple[RankedCase, ...], int]:
    """The stored ranking of the cases that still exist, and how many were removed; the ranks are the stored ones."""
    rows = {case.case_id: int(case.id) for case in library.catalogue.all_cases()}
    there = [
        (rank, rows[case], distance, near_duplicates)
        for rank, (case, distance, near_duplicates) in enumerate(stored, 1)
        if case in rows
    ]
    details = library.catalogue.details([row for _, row, _, _ in there])
    lines = []
    for rank, row, distance, near_duplicates in there:
        case = details[row]
        path = "" if case.address is None else str(case.address)
        lines.append(
            RankedCase(
                Rank(rank),
                CaseRow(row),
                case.case_id,
                distance,
                case.finding,
                case.patient,
                path,
                near_duplicates,
            )
        )
    return tuple(lines), len(stored) - len(there)


def _with_stored_ranking(
    now: SearchResult, lines: tuple[RankedCase, ...], state: Mapping[str, Any]
) -> SearchResult:
    """``now`` with the stored ranking; of the values derived from the ranking only the counts are included."""
    stored = state["seen"]
    findings = Counter(line.finding for line in lines[:VOTERS] if line.finding)
    return replace(
        now,
        ranked=lines,
        compared=int(stored.get("compared", now.compared)),
        same_patient=int(stored.get("same_patient", now.same_patient)),
        near_duplicates=int(stored.get("near_duplicates", now.near_duplicates)),
        counts=dict(sorted(findings.items(), key=lambda item: (-item[1], item[0]))),
        no_close_match=bool(stored.get("no_good_match", now.no_close_match)),
        match=None,
        vote=type(now.vote)(),
        others=(),
    )


def _ranking_difference(then: Sequence[RankedCase], now: Sequence[RankedCase]) -> str:
    """A text on how the first ranks would differ now; empty if they would not."""
    before, after = (
        [case.case_id for case in then[:COMPARED_RANKS]],
        [case.case_id for case in now[:COMPARED_RANKS]],
    )
    if before == after:
        return ""
    others = len(set(before) - set(after))
    of = min(COMPARED_RANKS, max(len(before), len(after)))
    if not others and len(before) == len(after):
        return tr_lazy("Searched now, the same {of} cases would come first in another order.", of=of)
    return tr_lazy(
        "Searched now, {others} of the first {of} cases would be different ones.",
        others=max(others, abs(len(after) - len(before))),
        of=of,
    )


def _query_name(query: Query) -> str:
    return query.case or (query.image.name if query.image else query.key if query.vector is not None else "")


def _thumbnail(state: Mapping[str, Any]) -> str:
    """A thumbnail of a query from outside; that of a case is read from the library when it is listed."""
    from semblance.core.imaging import open_image
    from semblance.core.imaging.thumbnail import thumbnail

    image = (state.get("query") or {}).get("image")
    if not image:
        return ""
    try:
        return base64.b64encode(thumbnail(open_image(Path(image)), _THUMBNAIL)).decode()
    except SemblanceError:
        return ""
