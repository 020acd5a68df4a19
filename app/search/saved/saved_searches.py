"""Keeping searches: at every change, under names, and open again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QObject

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import Change
from semblance.core.language import tr, translate
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches import saved_searches
from semblance.core.workflows.searches.saved_searches import ReopenedSearch, SavedSearch

#: Changes that follow each other faster are kept together.
PAUSE_MS = 150


class SearchAutosave(QObject):
    """Keeps the present search at every change; leaves a named one as it was when another query is asked."""

    def __init__(
        self, context: Context, capture: Callable[[], Mapping[str, Any]], parent: QObject | None = None
    ) -> None:
        """``capture`` tells how the search is seen."""
        super().__init__(parent)
        self._context, self._state, self._capture = context, context.state, capture
        self._kept: Mapping[str, Any] | None = None
        self._asked_with: Query | None = None
        self._soon = one_shot(self, self.keep, PAUSE_MS)
        state = self._state
        state.on_change(Change.LIBRARY, self, self._begin)
        state.on_change(Change.QUERY, self, self._follow_query)
        state.on_change(Change.NAME, self, self._follow_name)
        state.on_change(Change.SEARCH | Change.RANKING | Change.NAME, self, self.touch)

    def touch(self) -> None:
        """Something of the search, or of how it is seen, is different."""
        library = self._state.library
        if library is not None and library.writable and self._state.query is not None:
            self._soon.start()

    def look(self) -> None:
        """Take down how the search is seen now."""
        self._state.view = self._capture()

    def keep(self) -> None:
        """Write what there is, if it differs from what was written last."""
        library = self._state.library
        if library is None or not library.writable or self._state.query is None:
            return
        self.look()
        memory = self._state.search_record()
        if memory == self._kept:
            return
        self._kept = memory
        # In the process that asks: what it has in memory stays good when it writes itself.
        self._context.jobs.run(
            tr("Saving the search"),
            saved_searches.save_current,
            library.path,
            memory,
            lane=Lane.SEARCH,
            channel=f"keep {library.path}",
            quiet=True,
        ).failed.connect(self._context.messages.error)

    def _begin(self) -> None:
        self._soon.stop()
        self._kept = None

    def _follow_name(self) -> None:
        self._asked_with = self._state.query if self._state.search_name else None

    def _follow_query(self) -> None:
        state, before, query = self._state, self._asked_with, self._state.query
        if not state.search_name or before is None or query is None or state.path is None:
            return
        if (before.case, before.image) == (query.case, query.image):
            return
        # The named search stays as it was: from here on, judgements go into a ledger of their own.
        name = state.search_name
        state.set_search_name("")
        search_operations.copy_ledger(self._context)
        self._context.messages.info(
            tr("The search '{name}' is unchanged. The new query has no name.", name=name)
        )


def save(context: Context, name: str) -> Job | None:
    """Keep the present search under ``name``; from then on every change is kept there."""
    state = context.state
    if state.path is None or state.query is None:
        return None
    path = state.path
    job = _run(context, saved_searches.save, name, state.search_record())

    def done(given: str) -> None:
        if state.path == path:
            state.set_search_name(given)
        context.messages.info(tr("Saved as '{name}'. Later changes are saved in it too.", name=given))

    job.done.connect(done)
    return job


def branch(context: Context, name: str) -> Job | None:
    """Go on with a copy of the present search, judgements and all; the one it came from stays as it is."""
    state = context.state
    if state.path is None or state.query is None:
        return None
    path, before = state.path, state.search_name
    job = _run(context, saved_searches.branch, name, state.search_record())

    def done(search: Search) -> None:
        if state.path != path:
            return
        state.set_search_name("")
        state.change_search(ledger=search.ledger)
        state.set_search_name(name.strip())
        names = {"name": name.strip(), "before": before}
        context.messages.info(
            tr("You continue as '{name}'. '{before}' is unchanged.", **names)
            if before
            else tr("You continue as '{name}'.", **names)
        )

    job.done.connect(done)
    return job


def reopen(context: Context, name: str) -> Job | None:
    """Show a kept search as it was seen, and say what is gone or would differ."""
    path = context.state.path
    if path is None:
        return None
    job = _run(context, saved_searches.reopen, name, channel="ask")

    def show(found: ReopenedSearch) -> None:
        if context.state.path == path:
            show_reopened(context, found)

    job.done.connect(show)
    return job


def show_reopened(context: Context, found: ReopenedSearch) -> None:
    """Put a reopened search into the window."""
    search_operations.restore_search(context, found)
    context.state.set_ranked_search(found.asked)
    context.state.restore_view(found.view)
    if found.notes:
        again = "" if found.is_current else tr("Choose Search > Search again (F5) to update it.")
        context.messages.warning(
            tr("'{name}' was opened in part.", name=found.name),
            " ".join((*map(translate, found.notes), again)),
        )


def listed(context: Context, then: Callable[[list[SavedSearch]], None]) -> Job | None:
    """The kept searches go to ``then``."""
    if context.state.path is None:
        return None
    job = _run(context, saved_searches.saved_searches)
    job.done.connect(then)
    return job


def deleted(context: Context, then: Callable[[list[tuple[str, str, str]]], None]) -> Job | None:
    """Name, time and token of the deleted searches that can come back go to ``then``."""
    if context.state.path is None:
        return None
    job = _run(context, saved_searches.deleted_searches)
    job.done.connect(then)
    return job


def rename(context: Context, old: str, new: str) -> Job | None:
    """Call a kept search otherwise."""
    if context.state.path is None:
        return None
    job = _run(context, saved_searches.rename, old, new)

    def done(given: str) -> None:
        if context.state.search_name == old:
            context.state.set_search_name(given)

    job.done.connect(done)
    return job


def delete(context: Context, name: str, then: Callable[[str], None]) -> Job | None:
    """Delete a kept search; ``then`` gets what :func:`restore` takes."""
    if context.state.path is None:
        return None
    if context.state.search_name == name:
        context.state.set_search_name("")
    job = _run(context, saved_searches.delete, name)
    job.done.connect(then)
    return job


def restore(context: Context, token: str) -> Job | None:
    """Bring a deleted search back."""
    return None if context.state.path is None else _run(context, saved_searches.restore, token)


def _run(context: Context, function: Callable[..., Any], *args: Any, channel: str | None = None) -> Job:
    job = context.jobs.run(
        tr("Searches"), function, context.state.path, *args, lane=Lane.SEARCH, channel=channel, quiet=True
    )
    job.failed.connect(context.messages.error)
    return job
