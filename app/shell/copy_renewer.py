"""Keeps the copy of the open library on a server up to date, which is read while the server does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject

from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.jobs import Job, Lane
from semblance.core.errors import AccessRefused, SemblanceError, ServerUnavailable
from semblance.core.library.location import ServerAddress
from semblance.core.workflows.library.local_copies import remove_ended_copies, renew_copy

#: Milliseconds after a change until it is copied, and between two comparisons without a change.
AFTER_CHANGE_MS, CHECK_MS = 2_000, 600_000
#: Changes are copied together where copying takes long: a pause lasts so many times as long as the last copy took.
PAUSES = 9


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
            self._context.jobs.run("", remove_ended_copies, lane=Lane.NOTICES, quiet=True)
        if not isinstance(state.path, ServerAddress) or state.away:
            return
        self._is_outdated, begun = False, time.monotonic()
        job = self._job = self._context.jobs.run(
            "", renew_copy, state.path, self._context.settings.copy_bytes, lane=Lane.NOTICES, quiet=True
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
