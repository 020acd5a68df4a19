"""Save searches, automatically and under names, with their view, and open them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer

from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.local_time import local_time
from semblance.app.shell.state import Change
from semblance.app.viewer.viewport import Orientation
from semblance.app.viewer.window_level import Window
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, translate
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches import outcomes, saved_searches
from semblance.core.workflows.searches.outcomes import OutcomeConflict
from semblance.core.workflows.searches.saved_searches import ReopenedSearch, SavedSearch, SearchConflict

#: Changes that follow each other faster are saved together.
PAUSE_MS = 150


class SearchAutosave(QObject):
    """Saves the current search at every change. A named search stays unchanged when another query is searched."""

    def __init__(
        self, context: Context, capture: Callable[[], Mapping[str, Any]], parent: QObject | None = None
    ) -> None:
        """``capture`` returns the view of the search: zoom, window, scroll position and the like."""
        super().__init__(parent)
        self._context, self._state, self._capture = context, context.state, capture
        self._saved: Mapping[str, Any] | None = None
        self._named_query: Query | None = None
        #: Whether another person changed the named search, and the user did not choose yet.
        self._is_in_conflict = False
        self._save_timer = one_shot(self, self.save_now, PAUSE_MS)
        state = self._state
        state.on_change(Change.LIBRARY, self, self._start)
        state.on_change(Change.QUERY, self, self._follow_query)
        state.on_change(Change.NAME, self, self._follow_name)
        state.on_change(
            Change.SEARCH | Change.RANKING | Change.NAME | Change.REPORT, self, self.schedule_save
        )

    def schedule_save(self) -> None:
        """Save soon, because the search or its view changed."""
        if self._state.can_write and self._state.query is not None:
            self._save_timer.start()

    def capture_view(self) -> None:
        """Put the current view of the search into the state."""
        self._state.view = self._capture()

    def save_now(self) -> None:
        """Save the search, if it differs from the last one saved."""
        library = self._state.library
        if library is None or not self._state.can_write or self._state.query is None:
            return
        self.capture_view()
        record = self._state.search_record()
        if self._is_in_conflict:
            record = {**record, "name": ""}
        if record == self._saved:
            return
        self._saved = record
        name, content, seen = self._state.search_name, self._state.search_content(), self._state.seen_searches
        # In the process that searches: what it has in memory stays valid when it writes itself.
        job = self._context.jobs.run(
            tr("Saving the search"),
            saved_searches.save_current,
            library.location,
            record,
            seen=list(seen),
            pool=WorkerPool.SEARCH,
            # A search that was left is saved, too.
            channel=f"save {library.location} {record.get('name')}",
            quiet=True,
        )
        if name and content not in seen:
            # One that is cancelled by the next may have been saved.
            seen.append(content)

        def done(_none: None) -> None:
            if seen is self._state.seen_searches and record.get("name"):
                del seen[: seen.index(content)]

        def fail(error: SemblanceError) -> None:
            if not isinstance(error, SearchConflict):
                self._context.messages.error(error)
            elif seen is self._state.seen_searches and not self._is_in_conflict:
                self._show_conflict(error)

        job.done.connect(done)
        job.failed.connect(fail)

    def _show_conflict(self, error: SearchConflict) -> None:
        """Say what another person saved, and let the user choose. Until then nothing is saved under the name."""
        self._is_in_conflict = True
        state, name = self._state, self._state.search_name

        def save_mine() -> None:
            if state.search_name == name:
                state.seen_searches = [error.theirs]
                self._is_in_conflict, self._saved = False, None
                self.save_now()

        time = local_time(error.saved)
        self._context.messages.warning(
            error.message,
            " ".join(
                (
                    tr("It was saved at {time}.", time=time),
                    *_different_notes(error.theirs, state.search_content()),
                    tr("Yours is not saved under this name until you choose."),
                )
            ),
            [
                (tr("Open theirs"), lambda: reopen(self._context, name)),
                (tr("Save mine in its place"), save_mine),
            ],
            topic="conflict",
            library=state.location,
        )

    def _start(self) -> None:
        self._save_timer.stop()
        self._saved = None

    def _follow_name(self) -> None:
        self._named_query = self._state.query if self._state.search_name else None
        self._is_in_conflict = False

    def _follow_query(self) -> None:
        state, before, query = self._state, self._named_query, self._state.query
        if not state.search_name or before is None or query is None or state.location is None:
            return
        if _are_of_one_image(before, query):
            return
        # The named search stays unchanged: from now on judgements go into a new ledger.
        name = state.search_name
        state.set_search_name("")
        search_operations.copy_ledger(self._context)
        self._context.messages.info(
            tr("The search '{name}' is unchanged. The new query has no name.", name=name)
        )


def _are_of_one_image(one: Query | None, other: Query | None) -> bool:
    """Whether at most the region differs."""
    return one is not None and other is not None and (one.case, one.image) == (other.case, other.image)


def _different_notes(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> list[str]:
    """A sentence for each note that differs."""
    their_notes, my_notes = dict(theirs.get("notes", ())), dict(mine.get("notes", ()))
    nothing = tr("(none)")
    return [
        tr(
            "Note on {case}: theirs “{theirs}”, yours “{mine}”.",
            case=case,
            theirs=their_notes.get(case, nothing),
            mine=my_notes.get(case, nothing),
        )
        for case in sorted(their_notes | my_notes)
        if their_notes.get(case) != my_notes.get(case)
    ]


def save(context: Context, name: str) -> Job | None:
    """Save the current search as ``name``. Later changes are saved in it too."""
    state = context.state
    if state.location is None or state.query is None:
        return None
    path, seen = state.location, state.search_content()
    job = _run(context, saved_searches.save, name, state.search_record())

    query = state.query

    def show(given: str) -> None:
        if state.location == path and _are_of_one_image(state.query, query):
            state.set_search_name(given, seen)
            context.messages.info(tr("Saved as '{name}'. Later changes are saved in it too.", name=given))
        else:
            context.messages.info(tr("Saved as '{name}'.", name=given))

    job.done.connect(show)
    return job


def branch(context: Context, name: str) -> Job | None:
    """Continue with a copy of the current search and its judgements. The original stays unchanged."""
    state = context.state
    if state.location is None or state.query is None:
        return None
    path, query, before = state.location, state.query, state.search_name
    job = _run(context, saved_searches.branch, name, state.search_record())

    def show(search: Search) -> None:
        if state.location != path or not _are_of_one_image(state.query, query):
            # Its judgements are not those of another query.
            context.messages.info(tr("Saved as '{name}'.", name=name.strip()))
            return
        state.set_search_name("")
        state.change_search(ledger=search.ledger)
        state.set_search_name(name.strip(), search.to_json())
        names = {"name": name.strip(), "before": before}
        context.messages.info(
            tr("You continue as '{name}'. '{before}' is unchanged.", **names)
            if before
            else tr("You continue as '{name}'.", **names)
        )

    job.done.connect(show)
    return job


def reopen(context: Context, name: str) -> Job | None:
    """Open a saved search with its view, and warn of what is missing or would differ."""
    if context.state.location is None:
        return None
    then = partial(show_reopened, context)
    return _run(context, saved_searches.reopen, name, channel="ask", then=then)


def show_reopened(context: Context, found: ReopenedSearch) -> None:
    """Show a reopened search in the window."""
    search_operations.restore_search(context, found)
    context.state.set_ranked_search(found.ranked_search)
    context.state.restore_view(found.view)
    if found.notes:
        again = "" if found.is_current else tr("Choose Search > Search again to update it.")
        context.messages.warning(
            tr("'{name}' was opened in part.", name=found.name),
            " ".join((*map(translate, found.notes), again)),
        )


def list_searches(context: Context, then: Callable[[list[SavedSearch]], None]) -> Job | None:
    """Give the saved searches to ``then``."""
    if context.state.location is None:
        return None
    return _run(context, saved_searches.saved_searches, then=then)


def list_deleted(context: Context, then: Callable[[list[tuple[str, str, str]]], None]) -> Job | None:
    """Give name, time and token of the deleted searches that can be restored to ``then``."""
    if context.state.location is None:
        return None
    return _run(context, saved_searches.deleted_searches, then=then)


def rename(context: Context, old: str, new: str) -> Job | None:
    """Rename a saved search."""
    if context.state.location is None:
        return None

    def show(given: str) -> None:
        if context.state.search_name == old:
            context.state.set_search_name(given, context.state.seen_searches[0])

    return _run(context, saved_searches.rename, old, new, then=show)


def enter_outcome(
    context: Context, name: str, finding: str, seen: str, ask_again: Callable[[OutcomeConflict], None]
) -> Job | None:
    """Enter the later diagnosis of the query of a saved search; "" removes it. Where another person changed what was
    ``seen``, nothing is written and ``ask_again`` gets what it is now."""
    if context.state.location is None:
        return None

    def fail(error: SemblanceError) -> None:
        if isinstance(error, OutcomeConflict):
            ask_again(error)
        else:
            context.messages.error(error)

    return _run(context, outcomes.enter_outcome, name, finding, seen=seen, fail=fail)


def delete(context: Context, name: str, then: Callable[[str], None]) -> Job | None:
    """Delete a saved search. ``then`` gets the token for :func:`restore`."""
    if context.state.location is None:
        return None
    if context.state.search_name == name:
        context.state.set_search_name("")
    return _run(context, saved_searches.delete, name, then=then)


def restore(context: Context, token: str) -> Job | None:
    """Restore a deleted search."""
    return None if context.state.location is None else _run(context, saved_searches.restore, token)


def _run(
    context: Context,
    function: Callable[..., Any],
    *args: Any,
    channel: str | None = None,
    then: Callable[[Any], object] = lambda _result: None,
    fail: Callable[[SemblanceError], None] | None = None,
    **keywords: Any,
) -> Job:
    """``then``: is given the result, unless another library is open by then."""
    library = context.state.location
    job = context.jobs.run(
        tr("Searches"),
        function,
        library,
        *args,
        pool=WorkerPool.SEARCH,
        channel=channel,
        quiet=True,
        **keywords,
    )
    if fail is None:
        return context.follow(job, then, library=library)
    job.failed.connect(fail)
    return job


class SearchView(QObject):
    """The view in one window: of the query's image (zoom, position, window, orientation, slice) and of the similar
    cases (current case, list or cards, scroll position)."""

    def __init__(self, context: Context, query: QueryPanel, ranking: RankingPanel, parent: QObject) -> None:
        super().__init__(parent)
        self._state, self._query, self._ranking = context.state, query, ranking
        self._pending_view: Mapping[str, Any] = {}
        self.autosave = SearchAutosave(context, self.capture, self)
        view, grid = query.view, ranking.grid
        self._state.view_requested.connect(self.restore)
        self._state.on_change(Change.QUERY, self, self._clear)
        query.image_shown.connect(self._restore_image)
        view.view_changed.connect(self.autosave.schedule_save)
        view.window_changed.connect(lambda _: self.autosave.schedule_save())
        view.inverted_changed.connect(lambda _: self.autosave.schedule_save())
        query.pane.slice_changed.connect(lambda _: self.autosave.schedule_save())
        grid.current_changed.connect(lambda _: self.autosave.schedule_save())
        grid.verticalScrollBar().valueChanged.connect(lambda _: self.autosave.schedule_save())

    def capture(self) -> dict[str, Any]:
        """The current view as plain values for JSON."""
        if self._pending_view:
            # The image is still loading: the view to restore is still valid.
            return dict(self._pending_view)
        query, ranking = self._query, self._ranking
        grid = ranking.grid
        out: dict[str, Any] = {"scroll": grid.verticalScrollBar().value(), "cards": ranking.view.value()}
        index = self._state.columns.index_of_row(grid.current())
        if index >= 0:
            out["current"] = self._state.columns.ids[index]
        view = query.view
        if query.shows_query:
            viewport, window = view.viewport, view.window_level
            out |= {
                "zoom": None if viewport.fitted else [viewport.zoom, viewport.x, viewport.y],
                "held": [viewport.orientation.turns, viewport.orientation.mirrored],
                "greys": None if window is None else [window.low, window.high],
                "inverted": view.inverted,
                "slice": query.pane.place,
            }
        return out

    def _clear(self) -> None:
        """Forget the view to restore, because the query changed."""
        self._pending_view = {}

    def restore(self, view: Mapping[str, Any]) -> None:
        """Restore a view; that of the image when it is shown."""
        self._pending_view = view
        if self._query.shows_query:
            self._restore_image()
        QTimer.singleShot(0, self, lambda: self._restore_ranking(view))

    def _restore_ranking(self, view: Mapping[str, Any]) -> None:
        ranking, state = self._ranking, self._state
        if view.get("cards") in ("grid", "list") and view["cards"] != ranking.view.value():
            ranking.view.changed.emit(view["cards"])
        row = state.columns.row_of_id(str(view.get("current", "")))
        if row >= 0:
            ranking.grid.set_current(row)
        if isinstance(view.get("scroll"), int):
            ranking.grid.verticalScrollBar().setValue(view["scroll"])

    def _restore_image(self) -> None:
        pending, self._pending_view = self._pending_view, {}
        view, pane = self._query.view, self._query.pane
        try:
            if isinstance(pending.get("slice"), int):
                pane.slices.go_to_slice(pending["slice"])
            if pending.get("held"):
                view.set_orientation(Orientation(int(pending["held"][0]) % 4, bool(pending["held"][1])))
            if pending.get("zoom"):
                zoom, x, y = (float(value) for value in pending["zoom"])
                view.set_view(replace(view.viewport, zoom=zoom, x=x, y=y, fitted=False))
            if pending.get("greys") and view.image is not None:
                low, high = float(pending["greys"][0]), float(pending["greys"][1])
                view.set_window(Window(low, high, view.image.curve_between(low, high)))
            if "inverted" in pending and bool(pending["inverted"]) != view.inverted:
                view.invert()
        except (TypeError, ValueError, KeyError, IndexError):
            # Saved by another version: the image keeps its default view.
            return
