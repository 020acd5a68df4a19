"""Opening, filling and closing libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Jobs, Lane
from semblance.app.shell.messages import Action
from semblance.core.language import count_label, tr, tr_n, tr_name, translate
from semblance.core.library.importers.registry import get_importer
from semblance.core.library.records import NO_FINDING
from semblance.core.workflows.library import import_source as import_workflow
from semblance.core.workflows.library import library_snapshot, relink_images
from semblance.core.workflows.library.import_source import ImportResult
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
from semblance.core.workflows.searches import saved_searches

#: Findings whose numbers of cases are named after an import.
MAX_FINDINGS = 3
#: The topic of the messages on a new library: what was imported, then which metric is current.
NEW_LIBRARY = "new library"
#: Callbacks for when the library has been read again, each with its path.
_after_reload: WeakKeyDictionary[Jobs, list[tuple[Path, Callable[[], None]]]] = WeakKeyDictionary()


def open_library(context: Context, path: Path, then: Callable[[], None] | None = None) -> Job:
    """Open the library at ``path`` with its last search, or show the error."""
    context.state.opening = path
    job = context.jobs.run(
        tr("Opening {name}", name=path.name),
        library_snapshot.read_snapshot,
        path,
        lane=Lane.READ,
        channel="library",
    )

    def show(snapshot: LibrarySnapshot) -> None:
        before = context.state.path
        _leave_library(context)
        context.state.set_library(snapshot)
        if before is not None and before != path:
            context.jobs.close_library(before)
        context.settings.add_recent(path)
        context.settings.last_library = path
        if not snapshot.writable:
            context.messages.info(
                tr("{name} is read-only, because its folder cannot be written to.", name=snapshot.name),
                tr("To add cases or train, copy it to a folder with write permission."),
            )
        _restore_last_search(context, path)
        if then is not None:
            then()

    return context.follow(job, show)


def renew(context: Context, then: Callable[[], None] | None = None) -> None:
    """Read the open library again after it was changed, then call ``then``.

    A later call cancels this one's job. ``then`` is called all the same.
    """
    path = context.state.path
    if path is None:
        return
    callbacks = _after_reload.setdefault(context.jobs, [])
    if then is not None:
        callbacks.append((path, then))
    job = context.jobs.run(
        tr("Reading the library"),
        library_snapshot.read_snapshot,
        path,
        lane=Lane.READ,
        channel="renew",
        quiet=True,
    )

    def show(snapshot: LibrarySnapshot) -> None:
        ready = callbacks.copy()
        callbacks.clear()
        if context.state.path == snapshot.path:
            context.state.renew_library(snapshot)
            for where, run in ready:
                if where == context.state.path:
                    run()

    context.follow(job, show)


def close_library(context: Context) -> None:
    """Save the view and go back to the start page."""
    _leave_library(context)
    context.settings.last_library = None
    before = context.state.path
    context.state.set_library(None)
    if before is not None:
        context.jobs.close_library(before)


def recognise(context: Context, source: Path, then: Callable[[Any], None]) -> Job:
    """Find the kind of ``source``; ``then`` gets the possible kinds, the most likely first."""
    job = context.jobs.run(
        tr("Reading {name}", name=source.name),
        import_workflow.recognise_source,
        source,
        lane=Lane.READ,
        channel="recognise",
    )
    return context.follow(job, then)


def import_source(
    context: Context,
    source: Path,
    library: Path,
    kind: str,
    then: Callable[[ImportResult], None] | None = None,
    *,
    identified: bool = False,
    actions: Sequence[Action] = (),
) -> Job:
    """Import ``source`` into ``library`` in the background, and show the library while it grows.

    ``identified``: keep patient ids. ``actions`` are offered beside the message about what was imported.
    """
    job = context.jobs.run(
        tr("Importing {name}", name=source.name),
        import_workflow.import_source,
        source,
        library,
        kind=kind,
        identified=identified,
        must_exist=context.state.path == library,
        channel=f"import {library}",
    )
    refresh = _GrowingLibrary(context, library, job)

    def show(result: ImportResult) -> None:
        _report_import(context, source, result, actions)
        refresh.finish(partial(then, result) if then is not None else None)

    return context.follow(job, show)


class _GrowingLibrary(QObject):
    """Shows a library while ``job`` adds cases to it: opens it once, and reads it again, one reading at a time."""

    def __init__(self, context: Context, path: Path, job: Job) -> None:
        super().__init__(job)
        self._context, self._path = context, path
        self._was_opened = context.state.path == path
        self._is_reading = self._has_more = False
        self._then: Callable[[], None] | None = None
        job.partial.connect(self.refresh)
        job.cancelled.connect(self.report_cancelled)

    def refresh(self, _: object = None) -> None:
        """Show the cases that are in the library now; while it is being read, once more after that."""
        self._has_more = True
        if not self._is_reading:
            self._read()

    def finish(self, then: Callable[[], None] | None) -> None:
        """Show all cases, then call ``then``, also if another library was opened meanwhile."""
        self._then = then
        self.refresh()

    def report_cancelled(self) -> None:
        """Show and say what a cancelled import left."""
        if self._was_opened:
            self.refresh()
            self._context.messages.info(
                tr("The import into {name} was cancelled.", name=self._path.stem),
                tr("The cases imported so far stay. Import the same source again to continue."),
            )

    def _read(self) -> None:
        self._is_reading, self._has_more = True, False
        if not self._was_opened:
            self._was_opened = True
            open_library(self._context, self._path, self._end_reading)
        elif self._context.state.path == self._path:
            renew(self._context, self._end_reading)
        else:
            self._end_reading()

    def _end_reading(self) -> None:
        self._is_reading = False
        if self._has_more and self._context.state.path == self._path:
            self._read()
        elif self._then is not None:
            then, self._then = self._then, None
            then()


def _report_import(context: Context, source: Path, result: ImportResult, actions: Sequence[Action]) -> None:
    """Say what was recognised and imported, and how many files could not be read."""
    title = tr_name(get_importer(result.kind).title)
    known = (
        tr("patients unknown")
        if result.patients is None
        else tr_n("{n} patient", "{n} patients", result.patients)
    )
    findings = sorted(
        ((finding, n) for finding, n in result.findings.items() if finding != NO_FINDING),
        key=lambda item: -item[1],
    )
    counts = [count_label(n, finding) for finding, n in findings[:MAX_FINDINGS]]
    if len(findings) > MAX_FINDINGS:
        counts.append(tr("{n} more findings", n=len(findings) - MAX_FINDINGS))
    if counts and (without := result.findings.get(NO_FINDING, 0)):
        counts.append(tr("{n} not given", n=without))
    facts = [title, known]
    if result.added != result.cases:
        facts.append(
            tr("{added:,} added, {unchanged:,} unchanged", added=result.added, unchanged=result.unchanged)
        )
    what = tr(
        "Imported {cases}: {findings}.",
        cases=tr_n("{n} case", "{n} cases", result.cases),
        findings=", ".join(counts) or tr("no findings"),
    )
    notes = " ".join([f"{source.name}: {'; '.join(facts)}.", *map(translate, result.notes)])
    if result.failed:
        unreadable = tr_n(
            "{n} file could not be read. File > Files that could not be read… gives the reason.",
            "{n} files could not be read. File > Files that could not be read… lists each with its reason.",
            len(result.failed),
        )
        context.messages.warning(what, f"{unreadable} {notes}".strip(), actions)
    else:
        context.messages.info(what, notes, actions, topic=NEW_LIBRARY)


def relink(context: Context, folder: Path) -> None:
    """Look for moved images under ``folder``."""
    path = context.state.path
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

    context.follow(job, show)


def save_view_before_exit(context: Context) -> None:
    """Save the view and wait until it is written, because the program is about to end."""
    job = _save_view(context)
    if job is not None:
        context.jobs.wait(job)


def _leave_library(context: Context) -> None:
    """Save the view of the library that is about to be closed, and cancel its ranking."""
    _save_view(context)
    search_operations.cancel_ranking(context)


def _save_view(context: Context) -> Job | None:
    """Save the present search and its view in the library."""
    library = context.state.library
    if library is None or not library.writable:
        return None
    job = context.jobs.run(
        tr("Saving the view"),
        library_snapshot.save_state,
        library.path,
        context.state.search_record(),
        lane=Lane.READ,
        quiet=True,
    )
    job.failed.connect(context.messages.error)
    return job


def _restore_last_search(context: Context, path: Path) -> None:
    job = context.jobs.run(
        "", saved_searches.last_search, path, lane=Lane.READ, quiet=True, channel="restore"
    )

    def show(found: saved_searches.ReopenedSearch | None) -> None:
        if found is not None and context.state.path == path and context.state.query is None:
            search_operations.show_last_search(context, found)

    context.follow(job, show)
