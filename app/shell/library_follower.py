"""Follows what others change in the open library on a server, and whether the server answers."""

from __future__ import annotations

from PySide6.QtCore import QObject

from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import Change
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.address import server_address
from semblance.core.workflows.maintenance.watch_library import AWAY, BACK, LibraryEvent, follow_library

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
        self._state.on_change(Change.LIBRARY, self, self._follow_library)

    def _follow_library(self) -> None:
        self._read_timer.stop()
        self._is_outdated = self._is_reading = False
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        path = self._state.path
        if path is None or server_address(path) is None:
            return
        job = self._job = self._context.jobs.run(
            "", follow_library, path, lane=Lane.NOTICES, quiet=True, endless=True
        )
        job.partial.connect(self._receive)
        job.failed.connect(self._context.messages.error)

    def _receive(self, event: LibraryEvent) -> None:
        if event.kind == AWAY:
            self._state.set_away(event.reason)
            return
        if event.kind == BACK:
            self._state.set_away("")
            self._context.messages.info(tr("The server answers again."))
        if event.authors:
            who = ", ".join(f"{name} ({format_number(n, ',')})" for name, n in sorted(event.authors.items()))
            total = sum(event.authors.values())
            self._context.messages.info(
                tr_n("{n} change by others: {who}.", "{n} changes by others: {who}.", total, who=who)
            )
        if event.kind == BACK or set(event.tables) - _NOT_SHOWN:
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
