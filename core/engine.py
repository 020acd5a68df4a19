"""Where heavy work runs: spawned processes behind ``concurrent.futures``, with news and cancelling."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

from core.errors import SemblanceError
from core.tasks import Cancelled, Reporter

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue

#: Two cores are the smallest machine we plan for; more than eight workers starve the disk.
MAX_WORKERS = 8
#: Tasks that can be under way at once; each owns one byte of the shared stop flags.
SLOTS = 256
#: News are sent at most this often, so that a fast loop does not drown its listener.
NEWS_INTERVAL_S = 0.05

_CANCEL, _STOP = 1, 2
_KEEP_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

Listener = Callable[[str, object], None]
News = tuple[int, str, object]


def limit_threads() -> None:
    """One BLAS thread in this process and its children; call before numpy is loaded.

    Small eigenproblems run over a hundred times slower when two threads share a busy two-core machine.
    """
    for name in _KEEP_THREADS:
        os.environ[name] = "1"


def default_workers() -> int:
    """Processes worth starting here."""
    return max(1, min(MAX_WORKERS, os.cpu_count() or 1))


@dataclass(frozen=True)
class Progress:
    """News of :meth:`core.tasks.Reporter.progress`."""

    done: int
    total: int | None
    what: str


class _WorkerReporter(Reporter):
    """Lives in the worker: news go into the queue, wishes are read from the shared flags."""

    def __init__(self, token: int, slot: int) -> None:
        self._token, self._slot = token, slot
        self._next = 0.0
        self._last: Progress | None = None

    def progress(self, done: int, total: int | None, what: str) -> None:
        news = Progress(done, total, what)
        finished = total is not None and done >= total
        first = self._last is None or self._last.what != what
        now = time.monotonic()
        if finished or first or now >= self._next:
            self._last, self._next = news, now + NEWS_INTERVAL_S
            self._send("progress", news)

    def partial(self, result: object) -> None:
        self._send("partial", result)

    def check_cancelled(self) -> None:
        if _worker.flags[self._slot] & _CANCEL:
            raise Cancelled

    @property
    def stop_requested(self) -> bool:
        return bool(_worker.flags[self._slot] & _STOP)

    def _send(self, kind: str, news: object) -> None:
        _worker.news.put((self._token, kind, news))


@dataclass
class _Worker:
    """What a worker process was started with."""

    flags: Any = None
    news: Any = None


_worker = _Worker()


def _start_worker(flags: Any, news: Any, niceness: int) -> None:
    limit_threads()
    _worker.flags, _worker.news = flags, news
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow_parent, args=(parent.sentinel,), daemon=True).start()


def _follow_parent(sentinel: int) -> None:
    """End this worker when its parent is gone; a killed parent cannot tell its children."""
    connection.wait([sentinel])
    os._exit(1)


def _run(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], token: int, slot: int
) -> Any:
    reporter = _WorkerReporter(token, slot)
    reporter.check_cancelled()
    return function(*args, reporter=reporter, **kwargs)


class Task:
    """Work under way on an engine."""

    def __init__(self, future: Future[Any], flags: Any, slot: int) -> None:
        self.future = future
        self._flags, self._slot = flags, slot

    def cancel(self) -> None:
        """Ask the work to end; its future then raises ``Cancelled`` (or is cancelled if not started)."""
        if not self.future.cancel() and not self.future.done():
            self._flags[self._slot] |= _CANCEL

    def stop(self) -> None:
        """Ask the work to end and to keep the best result so far."""
        if not self.future.done():
            self._flags[self._slot] |= _STOP

    def result(self) -> Any:
        """Wait and return; raises what the work raised, ``Cancelled`` included."""
        return self.future.result()


class Engine:
    """A pool of spawned, niced processes with one BLAS thread each.

    ``submit`` runs ``function(*args, reporter=..., **kwargs)`` in a worker; everything crossing over is
    pickled between our own processes. A pool whose worker died is replaced at the next submit.
    """

    def __init__(self, workers: int | None = None, *, niceness: int = 10) -> None:
        self.workers = workers or default_workers()
        self._niceness = niceness
        self._tokens = itertools.count(1)
        self._listeners: dict[int, Listener] = {}
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._news: SimpleQueue[News | None] | None = None
        self._flags: Any = None
        self._free: list[int] = []
        self._reader: threading.Thread | None = None

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Listener | None = None, **kwargs: Any
    ) -> Task:
        """Queue the work. ``listener(kind, news)`` hears "progress" (:class:`Progress`) and "partial"
        results, in a thread of the engine; it never hears anything after the future is done."""
        with self._lock:
            pool = self._started()
            if not self._free:
                raise SemblanceError("Too many jobs are waiting.", "Let some of them finish first.")
            slot, token = self._free.pop(), next(self._tokens)
            flags = self._flags
            flags[slot] = 0
            if listener is not None:
                self._listeners[token] = listener
            try:
                future = pool.submit(_run, function, args, kwargs, token, slot)
            except BrokenProcessPool:
                self._discard()
                self._listeners.pop(token, None)
                raise SemblanceError(
                    "A worker process ended unexpectedly.", "Start the job again; what was finished is kept."
                ) from None
        future.add_done_callback(lambda _: self._finished(token, slot, flags))
        return Task(future, flags, slot)

    def shutdown(self) -> None:
        """Cancel what runs, end the workers, and return when they are gone."""
        with self._lock:
            pool, news, reader, flags = self._pool, self._news, self._reader, self._flags
            self._pool = self._news = self._flags = self._reader = None
        if flags is not None:
            for slot in range(SLOTS):
                flags[slot] |= _CANCEL
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        if news is not None and reader is not None:
            news.put(None)
            reader.join()
            news.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is not None and getattr(self._pool, "_broken", False):
            self._discard()
        if self._pool is None:
            limit_threads()
            context = multiprocessing.get_context("spawn")
            self._news = context.SimpleQueue()
            self._flags = context.RawArray("B", SLOTS)
            self._free = list(range(SLOTS))
            self._pool = ProcessPoolExecutor(
                self.workers, context, _start_worker, (self._flags, self._news, self._niceness)
            )
            self._reader = threading.Thread(
                target=self._listen, args=(self._news,), name="engine-news", daemon=True
            )
            self._reader.start()
        return self._pool

    def _discard(self) -> None:
        """Forget a pool whose worker died; its reader ends by the sentinel."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._news is not None:
            self._news.put(None)
        self._pool = self._news = self._flags = self._reader = None

    def _listen(self, news: SimpleQueue[News | None]) -> None:
        while True:
            try:
                item = news.get()
            except (EOFError, OSError):
                return
            if item is None:
                return
            token, kind, payload = item
            listener = self._listeners.get(token)
            if listener is not None:
                listener(kind, payload)

    def _finished(self, token: int, slot: int, flags: Any) -> None:
        self._listeners.pop(token, None)
        with self._lock:
            if flags is self._flags:
                self._free.append(slot)


@contextlib.contextmanager
def plain_errors() -> Any:
    """Turn the end of a worker process into an error a person can read."""
    try:
        yield
    except BrokenProcessPool:
        raise SemblanceError(
            "A worker process ended unexpectedly (it may have run out of memory).",
            "What was finished is kept; start the job again.",
        ) from None
