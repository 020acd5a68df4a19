"""Opening, filling and closing libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from semblance.app.shell.local_time import local_time
from semblance.core.language import tr, tr_n, tr_name
from semblance.core.library.case_names import modality_name
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.searches.query import Query
from semblance.core.workflows.library import import_source as import_workflow
from semblance.core.workflows.library import library_snapshot, relink_images
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
from semblance.core.workflows.library.recent_libraries import preview_images
from semblance.core.workflows.searches import saved_searches

#: Kinds of images that the list of recent libraries names.
_MOST_KINDS = 2
#: Callbacks for when the library has been read again, each with its path.
_after_reload: WeakKeyDictionary[Jobs, list[tuple[LibraryLocation, Callable[[], None]]]] = WeakKeyDictionary()


def open_library(
    context: Context,
    path: LibraryLocation,
    then: Callable[[], None] | None = None,
    when: Callable[[Callable[[], None]], None] | None = None,
) -> Job:
    """Open the library at ``path`` with its last search, or show the error. ``when`` is called with a function that
    shows the library and calls it when the window is ready."""
    context.state.opening = path
    is_on_server = isinstance(path, ServerAddress)
    if isinstance(path, ServerAddress) and path != context.state.location:
        context.jobs.servers.set_unreachable(path, unreachable=False)
    # An import compares its images at its end.
    is_growing = context.state.preparing == path
    job = context.jobs.run(
        tr("Opening {name}", name=path.name),
        library_snapshot.read_snapshot,
        path,
        pool=WorkerPool.READ,
        channel="library",
    )

    def receive(snapshot: LibrarySnapshot) -> None:
        if when is None:
            show(snapshot)
        else:
            when(partial(show, snapshot))

    def show(snapshot: LibrarySnapshot) -> None:
        if context.state.opening != path:
            # Another library was chosen meanwhile.
            return
        before = context.state.location
        _leave_library(context)
        context.state.set_library(snapshot)
        if isinstance(snapshot.location, ServerAddress):
            context.jobs.servers.remember(snapshot.location)
        if before is not None and before != path:
            context.jobs.close_library(before)
        _note_opened(context, snapshot)
        context.settings.last_library = path
        if snapshot.copied:
            context.messages.warning(
                tr(
                    "{name} was opened from the copy on this computer of {time}, because its server does not answer.",
                    name=snapshot.name,
                    time=local_time(snapshot.copied),
                ),
                context.state.why_not_edited,
            )
        elif is_on_server:
            if reason := context.state.why_not_edited:
                context.messages.info(tr("Cases of {name} cannot be edited.", name=snapshot.name), reason)
        elif not snapshot.writable:
            context.messages.info(
                tr("{name} is read-only, because its folder cannot be written to.", name=snapshot.name),
                tr("To add cases or train, copy it to a folder with write permission."),
            )
        has_others = len(snapshot.columns) > 1
        if context.state.can_edit and snapshot.not_compared and has_others and not is_growing:
            context.messages.info(
                tr_n(
                    "{n} image was not compared with the others yet, so copies of it are not grouped.",
                    "{n} images were not compared with the others yet, so copies of them are not grouped.",
                    snapshot.not_compared,
                ),
                tr("A copy may answer its own query, and counts several times."),
                [(tr("Detect same-lesion groups"), context.actions["detect_lesions"].trigger)],
            )
        _restore_last_search(context, path)
        if then is not None:
            then()

    if not is_on_server:
        return context.follow(job, receive)
    job.done.connect(receive)
    change = (tr("Change address or password…"), context.actions["open_server"].trigger)
    job.failed.connect(lambda error: context.messages.error(error, [change]))
    return job


def renew(context: Context, then: Callable[[], None] | None = None) -> None:
    """Read the open library again after it was changed, then call ``then``.

    A later call cancels this one's job. ``then`` is called all the same.
    """
    path = context.state.location
    if path is None:
        return
    callbacks = _after_reload.setdefault(context.jobs, [])
    if then is not None:
        callbacks.append((path, then))
    job = context.jobs.run(
        tr("Reading the library"),
        library_snapshot.read_snapshot,
        path,
        pool=WorkerPool.READ,
        channel="renew",
        quiet=True,
    )

    def show(snapshot: LibrarySnapshot) -> None:
        ready = callbacks.copy()
        callbacks.clear()
        if context.state.location == snapshot.location:
            context.state.renew_library(snapshot)
            for where, run in ready:
                if where == context.state.location:
                    run()

    context.follow(job, show)


def close_library(context: Context) -> None:
    """Save the view and go back to the start page."""
    _leave_library(context)
    context.settings.last_library = None
    before = context.state.location
    context.state.opening = None
    context.state.set_library(None)
    if before is not None:
        context.jobs.close_library(before)


def load_previews(
    context: Context,
    libraries: Sequence[LibraryLocation],
    count: int,
    longest: int,
    then: Callable[[Any], None],
) -> Job:
    """Read small images of libraries that are not open; ``then`` gets them by library."""
    job = context.jobs.run(
        "", preview_images, libraries, count, 2 * longest, pool=WorkerPool.READ, channel="recent", quiet=True
    )
    return context.follow(job, then)


def recognise(context: Context, source: Path, then: Callable[[Any], None]) -> Job:
    """Find the kind of ``source``; ``then`` gets the possible kinds, the most likely first."""
    job = context.jobs.run(
        tr("Reading {name}", name=source.name),
        import_workflow.recognise_source,
        source,
        pool=WorkerPool.READ,
        channel="recognise",
    )
    return context.follow(job, then)


def relink(context: Context, folder: Path) -> None:
    """Look for moved images under ``folder``."""
    path = context.state.location
    if path is None:
        return
    job = context.jobs.run(tr("Finding moved images"), relink_images.relink, path, folder)

    def show(result: relink_images.RelinkResult) -> None:
        context.messages.info(
            tr(
                "{found:,} images found again, {missing:,} still missing.",
                found=result.found,
                missing=result.still_missing,
            )
        )
        renew(context)

    context.follow(job, show, library=path)


def save_view_before_exit(context: Context) -> None:
    """Save the view and wait until it is written, because the program is about to end."""
    job = _save_view(context)
    if job is not None:
        context.jobs.wait(job)


def _leave_library(context: Context) -> None:
    """Save the view of the library that is about to be closed, and cancel its ranking."""
    _save_view(context)
    search_operations.cancel_query(context)


def _save_view(context: Context) -> Job | None:
    """Save the present search and its view in the library."""
    library = context.state.library
    if library is None:
        return None
    if not context.state.can_write:
        _remember_query(context)
        return None
    job = context.jobs.run(
        tr("Saving the view"),
        library_snapshot.save_state,
        library.location,
        context.state.search_record(),
        pool=WorkerPool.READ,
        quiet=True,
    )
    job.failed.connect(context.messages.error)
    return job


def _note_opened(context: Context, snapshot: LibrarySnapshot) -> None:
    """Put the library into the list of recent ones, with what is in it."""
    from semblance.core.library.importers.registry import get_importer

    headers = snapshot.columns.headers
    codes = np.bincount(headers.codes["modality"])[1:]
    modalities = [headers.texts["modality"][code + 1] for code in np.argsort(-codes)[:_MOST_KINDS].tolist()]
    kinds = [modality_name(one) for one in modalities] or [
        tr_name(get_importer(one).title) for one in snapshot.kinds
    ]
    cases = tr_n("{n} case", "{n} cases", len(snapshot.columns)) if len(snapshot.columns) else ""
    context.settings.add_recent(snapshot.location, cases, ", ".join(dict.fromkeys(kinds[:_MOST_KINDS])))


def _remember_query(context: Context) -> None:
    """Remember the query of a library that cannot be written to: the number of its case, no id, or the file."""
    state, query = context.state, context.state.query
    if state.location is None or query is None:
        return
    what = str(state.query_row) if state.query_row >= 0 else str(query.image or "")
    context.settings.remember_query(state.location, what)


def _restore_last_search(context: Context, path: LibraryLocation) -> None:
    """Search with the last query of the library at ``path``, else with its first one."""
    state = context.state
    if not state.can_write and (last := context.settings.last_query(path)):
        if last.isdigit():
            search_operations.submit_case(context, int(last))
        elif (image := Path(last)).is_file():
            search_operations.submit_query(context, Query(image=image))
            return
        if state.query is not None:
            return
    job = context.jobs.run(
        "", saved_searches.last_search, path, pool=WorkerPool.READ, quiet=True, channel="restore"
    )

    def show(found: saved_searches.ReopenedSearch | None) -> None:
        if state.location != path or state.query is not None:
            return
        if found is not None:
            search_operations.show_last_search(context, found)
        else:
            search_operations.submit_first_query(context)

    context.follow(job, show)
