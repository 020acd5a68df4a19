"""The lock by which windows know of each other that they have the same library open."""

from __future__ import annotations

from PySide6.QtCore import QLockFile

from semblance.app.shell.context import Context
from semblance.core.language import tr


class LibraryLock:
    """Of one window; held while a library is open that can be written to."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._held: QLockFile | None = None

    def release(self) -> None:
        """Let go of the library that was open."""
        if self._held is not None:
            self._held.unlock()
            self._held = None

    def follow(self) -> None:
        """Take the lock of the library that is open now, or say who has it."""
        self.release()
        library = self._context.state.library
        if library is None or not library.writable:
            return
        lock = QLockFile(str(library.path / "window.lock"))
        lock.setStaleLockTime(0)
        if lock.tryLock(0):
            self._held = lock
            return
        process, host, _program = lock.getLockInfo()
        self._context.messages.info(
            tr(
                "{name} is open in another window too (process {process} on {host}).",
                name=library.path.name,
                process=process,
                host=host,
            )
            if host
            else tr("{name} is open in another window too.", name=library.path.name),
            tr("You can use both. Open the library again to see what the other window added."),
        )
