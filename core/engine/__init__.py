"""Worker processes for heavy work, with ``concurrent.futures``, progress and cancelling."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from semblance.core.engine.pool import GRACE_S, SLOTS, Listener, Pool, Task, WorkerEnded
from semblance.core.engine.worker import Progress, limit_threads
from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy

__all__ = [
    "MAX_WORKERS",
    "SLOTS",
    "Engine",
    "Listener",
    "Progress",
    "Task",
    "WorkerEnded",
    "default_workers",
    "limit_threads",
]

#: Two cores are the smallest machine we plan for; more than eight workers starve the disk.
MAX_WORKERS = 8


#: Number of worker processes, where the user wants another one than that of the processors.
WORKERS_VARIABLE = "SEMBLANCE_WORKERS"


def default_workers() -> int:
    """The number of worker processes: that of the environment variable, or of this computer's processors.

    Raises:
        BadArguments: the environment variable is not a number from 1 to :data:`MAX_WORKERS`.
    """
    text = os.environ.get(WORKERS_VARIABLE, "").strip()
    if not text:
        return max(1, min(MAX_WORKERS, os.cpu_count() or 1))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_WORKERS):
        raise BadArguments(
            tr_lazy("{variable} cannot be '{text}'.", variable=WORKERS_VARIABLE, text=text),
            tr_lazy("Set it to a number from 1 to {most}.", most=MAX_WORKERS),
        )
    return int(text)


class Engine:
    """A pool of spawned, niced processes with one BLAS thread each.

    ``submit`` runs ``function(*args, reporter=..., **kwargs)`` in a worker; arguments and results are pickled
    between our own processes. A pool whose worker died is replaced at the next submit.
    ``after``: called without arguments in a worker after each of its tasks.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        niceness: int = 10,
        after: Callable[[], object] | None = None,
    ) -> None:
        self.workers = workers or default_workers()
        self._niceness, self._after = niceness, after
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Listener | None = None, **kwargs: Any
    ) -> Task:
        """Queue the work. ``listener(kind, message)`` gets "progress" (:class:`Progress`) and "partial" results in
        a thread of the engine; all of them before the future is done, none after.

        Raises:
            SemblanceError: too many tasks are running or waiting, or workers end as soon as they start.
        """
        for _ in range(2):
            pool = self._running_pool()
            try:
                return pool.submit(function, args, kwargs, listener)
            except BrokenProcessPool:
                self._discard(pool)
        raise WorkerEnded

    def share_file(self, file: Path) -> Path:
        """The argument for workers in place of ``file``: itself, because they can read it."""
        return file

    def shutdown(self, grace_s: float = GRACE_S) -> None:
        """Cancel running tasks, end the workers, and return when they have ended.

        A task that does not check for cancelling within ``grace_s`` seconds is killed.
        """
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(wait=True, grace_s=grace_s)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _running_pool(self) -> Pool:
        with self._lock:
            if self._pool is None:
                limit_threads()
                self._pool = Pool(self.workers, self._niceness, self._after)
            return self._pool

    def _discard(self, pool: Pool) -> None:
        """Close a pool whose worker died."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.close(wait=False)
