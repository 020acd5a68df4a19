"""Follows an open library on a server: what others change, whether it answers, and its copy for when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.core.errors import AccessRefused, SemblanceError, ServerUnavailable
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.location import ServerAddress
from semblance.core.workflows.library.local_copies import remove_ended_copies, renew_copy
from semblance.core.workflows.maintenance.watch_library import (
    AWAY,
    BACK,
    CHANGED,
    WATCHING,
    LibraryEvent,
    follow_library,
)

#: Milliseconds after a change until it is copied, and between two comparisons without a change.
AFTER_CHANGE_MS, CHECK_MS = 2_000, 600_000
#: Changes are copied together where copying takes long: a pause lasts so many times as long as the last copy took.
PAUSES = 9

#: Changes that follow each other faster are read together.
PAUSE_MS = 300
#: Changes of these alone need no reading: other people's marks do not change the cases, and searches are listed anew.
_NOT_SHOWN = frozenset({"judgements", "searches", "reader_answers", "reader_studies"})


class CopyRenewer(QObject):
    """Renews the copy in a job of low priority, one at a time."""

    def __init__(
        self, context: Context, refuse: Callable[[SemblanceError], None], parent: QObject | None = None
    ) -> None:
        """``refuse``: called with the error where the user may not read the library any more."""
        super().__init__(parent)
        self._context, self._refuse = context, refuse
        self._is_swept = False
        self._job: Job | None = None
        self._is_outdated = False
        self._seconds = 0.0
        self._timer = one_shot(self, self._renew)

    def begin(self) -> None:
        """Renew the copy of another library from now on; the job for the one before is cancelled."""
        self._timer.stop()
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        self._seconds = 0.0
        self.request()

    def request(self) -> None:
        """The library was changed."""
        self._is_outdated = True
        if self._job is None and not self._timer.isActive():
            self._timer.start(AFTER_CHANGE_MS + round(1000 * PAUSES * self._seconds))

    def _renew(self) -> None:
        state = self._context.state
        if not self._is_swept:
            # Their projects are not opened again, so nobody else would.
            self._is_swept = True
            self._context.jobs.run("", remove_ended_copies, pool=WorkerPool.NOTICES, quiet=True)
        if not isinstance(state.location, ServerAddress) or state.server_problem:
            return
        self._is_outdated, begun = False, time.monotonic()
        job = self._job = self._context.jobs.run(
            "",
            renew_copy,
            state.location,
            self._context.settings.copy_bytes,
            pool=WorkerPool.NOTICES,
            quiet=True,
        )

        def end() -> None:
            if self._job is not job:
                return
            self._job, self._seconds = None, time.monotonic() - begun
            if self._is_outdated:
                self.request()
            else:
                self._timer.start(CHECK_MS)

        job.failed.connect(self._show)
        job.ended.connect(end)

    def _show(self, error: SemblanceError) -> None:
        if isinstance(error, AccessRefused):
            self._refuse(error)
        # That the server went away is said elsewhere.
        elif not isinstance(error, ServerUnavailable):
            self._context.messages.error(error)


class LibraryFollower(QObject):
    """Reads the library again when others changed it, and says who did. The ranking that is shown stays as it is."""

    def __init__(self, context: Context, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._state = context, context.state
        self._job: Job | None = None
        self._is_outdated = self._is_reading = False
        self._read_timer = one_shot(self, self._read, PAUSE_MS)
        self._copy = CopyRenewer(context, self._refuse, self)
        self._state.on_change(Change.LIBRARY, self, self._follow_library)
        context.jobs.server_lost.connect(self._lose_server)

    def _follow_library(self) -> None:
        self._read_timer.stop()
        self._is_outdated = self._is_reading = False
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        self._copy.begin()
        path = self._state.location
        if not isinstance(path, ServerAddress):
            return
        job = self._job = self._context.jobs.run(
            "", follow_library, path, pool=WorkerPool.NOTICES, quiet=True, endless=True
        )
        job.partial.connect(self._receive)
        job.failed.connect(self._refuse)

    def _lose_server(self, address: ServerAddress, reason: str) -> None:
        """A job noticed first that the server does not answer. A new connection says when it does."""
        if address == self._state.location and not self._state.server_problem:
            self._state.set_server_problem(reason)
            self._follow_library()

    def _refuse(self, error: SemblanceError) -> None:
        """The library is closed where its user lost the right to read it. What this computer had of it is gone."""
        if isinstance(error, AccessRefused):
            from semblance.app.shell import library_operations

            library_operations.close_library(self._context)
        self._context.messages.error(error)

    def _receive(self, event: LibraryEvent) -> None:
        address = self._state.location
        if not isinstance(address, ServerAddress):
            return
        if event.kind == AWAY:
            self._context.jobs.servers.set_unreachable(address, unreachable=True)
            self._state.set_server_problem(event.reason)
            return
        is_back = event.kind == BACK or (event.kind == WATCHING and bool(self._state.server_problem))
        if is_back:
            self._context.jobs.servers.set_unreachable(address, unreachable=False)
            self._state.set_server_problem("")
            self._context.messages.info(tr("The server answers again."))
        if event.kind == CHANGED or is_back:
            self._copy.request()
        if event.authors:
            who = ", ".join(f"{name} ({format_number(n, ',')})" for name, n in sorted(event.authors.items()))
            total = sum(event.authors.values())
            self._context.messages.info(
                tr_n("{n} change by others: {who}.", "{n} changes by others: {who}.", total, who=who)
            )
        if is_back or "judgements" in event.tables:
            from semblance.app.shell import search_operations

            search_operations.show_present_marks(self._context)
        if is_back or set(event.tables) - _NOT_SHOWN:
            self._is_outdated = True
            self._read_timer.start()

    def _read(self) -> None:
        """Read the library again, unless it is being read; a preparation reads it itself."""
        if self._is_reading or not self._is_outdated or self._state.preparing == self._state.location:
            return
        # Too much to load before the first paint.
        from semblance.app.shell import library_operations

        self._is_outdated, self._is_reading = False, True
        library_operations.renew(self._context, self._end_reading)

    def _end_reading(self) -> None:
        self._is_reading = False
        if self._is_outdated:
            self._read_timer.start()
