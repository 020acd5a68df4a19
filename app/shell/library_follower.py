"""Follows what others change in the open library on a server, and whether the server answers."""

from __future__ import annotations

from PySide6.QtCore import QObject

from semblance.app.shell.context import Context
from semblance.app.shell.copy_renewer import CopyRenewer
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import Change
from semblance.core.errors import AccessRefused, SemblanceError
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.location import ServerAddress
from semblance.core.workflows.maintenance.watch_library import (
    AWAY,
    BACK,
    CHANGED,
    WATCHING,
    LibraryEvent,
    follow_library,
)

#: Changes that follow each other faster are read together.
PAUSE_MS = 300
#: Changes of these alone need no reading: other people's marks do not change the cases, and searches are listed anew.
_NOT_SHOWN = frozenset({"judgements", "searches", "reader_answers", "reader_studies"})


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
        path = self._state.path
        if not isinstance(path, ServerAddress):
            return
        job = self._job = self._context.jobs.run(
            "", follow_library, path, lane=Lane.NOTICES, quiet=True, endless=True
        )
        job.partial.connect(self._receive)
        job.failed.connect(self._refuse)

    def _lose_server(self, address: ServerAddress, reason: str) -> None:
        """A job noticed first that the server does not answer. A new connection says when it does."""
        if address == self._state.path and not self._state.away:
            self._state.set_away(reason)
            self._follow_library()

    def _refuse(self, error: SemblanceError) -> None:
        """The library is closed where its user lost the right to read it. What this computer had of it is gone."""
        if isinstance(error, AccessRefused):
            from semblance.app.shell import library_operations

            library_operations.close_library(self._context)
        self._context.messages.error(error)

    def _receive(self, event: LibraryEvent) -> None:
        address = self._state.path
        if not isinstance(address, ServerAddress):
            return
        if event.kind == AWAY:
            self._context.jobs.servers.set_away(address, away=True)
            self._state.set_away(event.reason)
            return
        is_back = event.kind == BACK or (event.kind == WATCHING and bool(self._state.away))
        if is_back:
            self._context.jobs.servers.set_away(address, away=False)
            self._state.set_away("")
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
        if self._is_reading or not self._is_outdated or self._state.preparing == self._state.path:
            return
        # Too much to load before the first paint.
        from semblance.app.shell import library_operations

        self._is_outdated, self._is_reading = False, True
        library_operations.renew(self._context, self._end_reading)

    def _end_reading(self) -> None:
        self._is_reading = False
        if self._is_outdated:
            self._read_timer.start()
