"""A lock file that shows other windows that a library is open."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QLockFile

from semblance.app.shell.context import Context
from semblance.core.files import make_private
from semblance.core.language import tr
from semblance.core.library.location import ServerAddress


class LibraryLock:
    """The lock of one window. It is locked while a writable library is open."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock: QLockFile | None = None

    def release(self) -> None:
        """Unlock the library that was open."""
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    def update(self) -> None:
        """Lock the library that is open now, or show which process has locked it."""
        self.release()
        library = self._context.state.library
        if library is None or not library.writable or isinstance(library.location, ServerAddress):
            # On a server, changes of others are shown as they happen.
            return
        lock = QLockFile(str(library.location / "window.lock"))
        lock.setStaleLockTime(0)
        if lock.tryLock(0):
            self._lock = lock
            make_private(Path(lock.fileName()))
            return
        process, host, _program = lock.getLockInfo()
        self._context.messages.info(
            tr(
                "{name} is open in another window too (process {process} on {host}).",
                name=library.location.name,
                process=process,
                host=host,
            )
            if host
            else tr("{name} is open in another window too.", name=library.location.name),
            tr("You can use both. Open the library again to see what the other window added."),
        )
